"""Interrupts planted where a signal handler might raise them."""

import dis


class Interrupt(BaseException):
    """What the handler of a planted signal raises."""


class Injector:
    """A trace function that raises at one of the places of a file where Python hears signals.

    Those are the first instruction of a function, and the one after a call or a jump backward.
    """

    def __init__(self, at, file):
        self.at, self.file, self.seen, self.raised, self.last = at, file, 0, None, {}

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != self.file:
            return None
        frame.f_trace_opcodes = True
        heard = event == "call"
        if event == "opcode":
            heard = self.last.get(frame, "").startswith(("CALL", "JUMP_BACKWARD"))
            self.last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if heard:
            self.seen += 1
            if self.seen == self.at:
                self.raised = f"{frame.f_code.co_name}:{frame.f_lineno}"
                raise Interrupt(self.raised)
        return self
