"""Compiling under a limit on address space: a rule or an error, never the end of the process."""

PROGRAM = """
import os, resource, sys, updraft

def size():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmSize"):
                return int(line.split()[1]) * 1024

RULE = ("rule B(lr = 0.1) { update(param, grad) { let a0 = param "
        + " ".join(f"let a{i} = tanh(a{i - 1} + {i})" for i in range(1, 30))
        + " next param = a29 } }")
if WARM:
    updraft.compile("rule M(lr = 0.1) { update(param, grad) { next param = grad } }", cache_dir="")
OK, REFUSED, OTHER = 0, 3, 4
ends = []
for mebibytes in range(0, 160, STEP):
    child = os.fork()
    if child == 0:
        limit = size() + mebibytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            updraft.compile(RULE, cache_dir="")
        except MemoryError:
            os._exit(REFUSED)
        except BaseException:
            os._exit(OTHER)
        os._exit(OK)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
# In between it depends on whether glibc has reserved 64 MiB of addresses for the second thread.
print(set(ends) == {OK, REFUSED} and (ends[0], ends[-1]) == (REFUSED, OK), ends)
"""


def check_ends(run_python, is_warm):
    printed = run_python(PROGRAM.replace("WARM", str(is_warm)).replace("STEP", "2"))
    assert printed.startswith("True"), printed


def test_first_compilation(run_python):
    check_ends(run_python, is_warm=False)


def test_later_compilation(run_python):
    check_ends(run_python, is_warm=True)
