"""Compiling under a limit on address space either succeeds or raises an error."""

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
# The higher limits allow the compiler a second thread.
for mebibytes in [*range(0, 160, 2), *range(160, 400, 4)]:
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
refused = ends.count(REFUSED)
print(0 < refused < 80 and ends == [REFUSED] * refused + [OK] * (len(ends) - refused), ends)
"""


def check_ends(run_python, is_warm):
    printed = run_python(PROGRAM.replace("WARM", str(is_warm)))
    assert printed.startswith("True"), printed


def test_first_compilation(run_python):
    check_ends(run_python, is_warm=False)


def test_later_compilation(run_python):
    check_ends(run_python, is_warm=True)
