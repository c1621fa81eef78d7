"""Prints the ```mlir examples of the given files as one input for updraft-opt -split-input-file.

An example that is a whole rule, plan or function is printed as it is. Another is the body of an
operation or pass, named by the `def` before it; SETTING says what to put around it.
"""

import pathlib
import re
import sys

RULE = """updraft.rule @R compute f32 {{
  %c = arith.constant 0.0 : f64
  %pp = updraft.param stored f32 : f32
  %gg = updraft.grad stored f32 : f32
  {}
  updraft.next %pp{} : f32{}
}}"""
HYPER = '%lr = updraft.hyper "lr" = 1.0\n'
OK = HYPER + "%ok = arith.cmpf oge, %lr, %c : f64\n"
STATES = """%zero = arith.constant 0.0 : f64
%m1 = updraft.state "m" stored f32 initial %zero : f32
%v1 = updraft.state "v" stored f32 initial %zero : f32
%p1 = updraft.param stored f32 : f32
%g1 = updraft.grad stored f32 : f32
"""
BAD = "%bad = arith.constant false\n"
STREAMS = """%p = updraft.stream "param" : !updraft.stream<f32>
%g = updraft.stream "grad" : !updraft.stream<f32>
"""
STATE_STREAMS = """%m = updraft.stream "m" : !updraft.stream<f32>
%v = updraft.stream "v" : !updraft.stream<f32>
"""
INITIAL = "updraft.initial() { updraft.yield }\n"
INITIAL_OF_ONE = """updraft.initial() {
  %z = arith.constant 0.0 : f64
  updraft.yield %z : f64
}
"""
VALIDATE = "updraft.validate() messages [] { updraft.yield }\n"
PROLOGUE = """%k = updraft.prologue() : () -> f32 {
  %one = arith.constant 1.0 : f32
  updraft.yield %one : f32
}
"""

MATRIX = "%x = arith.addf %pp, %gg : f32\n"


def rule(prelude: str = "", states: str = "", kind: str = "") -> str:
    types = ", f32" if states else ""
    return RULE.format(prelude + "EXAMPLE", states, types).replace("f32 {", f"f32 {kind}{{", 1)


def plan(prelude: str, rest: str = "", kind: str = "") -> str:
    return f"updraft.plan @P compute f32 {kind}{{\n" + HYPER + prelude + "EXAMPLE\n" + rest + "}"


# A rule with one parameter or gradient from the example and the other from here.
def lone(other: str) -> str:
    result = "%p" if other == "grad" else "%x"
    return (
        f"updraft.rule @R compute f32 {{\nEXAMPLE\n%x = updraft.{other} stored f32 : f32\n"
        f"updraft.next {result} : f32\n}}"
    )


FUNCTION = "func.func @f(%lr: f64, %x: f64, %g: f32) {\nEXAMPLE\nreturn\n}"

ACCESSES = (
    "func.func @f(%table: !llvm.ptr, %e: !updraft.elements<f32>, %start: i64, %i: i64,\n"
    "             %m: vector<8xi1>, %x: vector<8xf32>) {\nEXAMPLE\nreturn\n}"
)

NUMBERS = ["begin", "end", "c8", "c16", "c256", "c512", "largest", "multiple_of_8"]
LOOPS = (
    "func.func @f(%p: !updraft.elements<f32>, %d: vector<8xf32>, %x: vector<16xf32>,\n"
    "             %zero: vector<16xf32>, %s: f32, %one: f32, %least: f32, %most: f32,\n"
    "             %variance: f32, %eps: f32, %mean: f32, %norm: f32, "
    + ", ".join(f"%{name}: i64" for name in NUMBERS)
    + ") {\nEXAMPLE\nreturn\n}"
)

SETTING = {
    "Updraft_StreamType": plan(
        STREAMS + '%m = updraft.stream "m" : ', INITIAL_OF_ONE + VALIDATE, kind="matrix "
    ),
    "Updraft_StochasticType": lone("grad").replace(
        "EXAMPLE", "%p = updraft.param stored EXAMPLE : f32"
    ),
    "Updraft_CorrectedType": lone("grad").replace(
        "EXAMPLE", "%p = updraft.param stored EXAMPLE : f32"
    ),
    "Updraft_BlockedType": plan(
        STREAMS + '%m = updraft.stream "m" : ', INITIAL_OF_ONE + VALIDATE
    ).replace("EXAMPLE", "!updraft.stream<EXAMPLE>"),
    "Updraft_ReductionAttr": plan(
        STREAMS + INITIAL + VALIDATE + "updraft.sweep reduces [",
        "] -> f64 {\n%zero = arith.constant 0.0 : f64\nupdraft.store reduce(%zero)\n}\n",
    ),
    "Updraft_HyperOp": rule(),
    "Updraft_StepOp": rule(),
    "Updraft_FirstOp": rule(),
    "Updraft_ParamOp": lone("grad"),
    "Updraft_GradOp": lone("param"),
    "Updraft_SizeOp": rule(),
    "Updraft_StateOp": rule(
        "%zero = arith.constant 0.0 : f64\n%one = arith.constant 1.0 : f64\n", ", %m, %mu"
    ).replace(": f32, f32", ": f32, f32, f64"),
    "Updraft_RandomOp": rule(),
    "Updraft_ReduceOp": rule("%square = arith.extf %gg : f32 to f64\n"),
    "Updraft_ProbeOp": rule(
        "".join(
            f"%{name} = arith.constant 1.0 : f64\n" for name in ("norm", "small", "medium", "large")
        )
    ),
    "Updraft_ProductOp": rule(MATRIX, kind="matrix "),
    "Updraft_TransposeOp": rule(MATRIX, kind="matrix "),
    "Updraft_IdentityOp": rule(kind="matrix "),
    "Updraft_BroadcastOp": rule(),
    "Updraft_ApplyOp": rule(MATRIX, kind="matrix "),
    "Updraft_RequireOp": rule(OK),
    "Updraft_NextOp": "updraft.rule @R compute f32 {\n" + STATES + BAD + "EXAMPLE\n}",
    "Updraft_StreamOp": plan(STREAMS, INITIAL_OF_ONE + VALIDATE),
    "Updraft_ScalarOp": plan(STREAMS, INITIAL_OF_ONE + VALIDATE),
    "Updraft_InitialOp": plan(STREAMS + STATE_STREAMS, VALIDATE),
    "Updraft_ValidateOp": plan(STREAMS + INITIAL),
    "Updraft_PrologueOp": plan(STREAMS + INITIAL + VALIDATE),
    "Updraft_YieldOp": plan(
        STREAMS
        + STATE_STREAMS
        + VALIDATE
        + "updraft.initial(%lr) {\n^bb0(%a: f64):\n%zero = arith.constant 0.0 : f64\n",
        "}\n",
    ),
    "Updraft_CommitOp": plan(
        STREAMS
        + '%mu = updraft.scalar "mu" over tensor stored f32\n'
        + INITIAL_OF_ONE
        + VALIDATE
        + "%mu1, %bad = updraft.prologue(%mu) : (f64) -> (f64, i1) {\n^bb0(%a: f64):\n"
        + "%false = arith.constant false\nupdraft.yield %a, %false : f64, i1\n}\n"
    ),
    "Updraft_SweepOp": plan(STREAMS + INITIAL + VALIDATE + PROLOGUE),
    "Updraft_MultiplyOp": plan(
        STREAMS.replace("%p", "%x") + INITIAL + VALIDATE + PROLOGUE, kind="matrix "
    ),
    "Updraft_CallOp": plan(STREAMS.replace("%p", "%x") + INITIAL + VALIDATE, kind="matrix "),
    "Updraft_StoreOp": plan(
        STREAMS
        + '%rows = updraft.stream "rows" : !updraft.stream<f32, row>\n'
        + INITIAL_OF_ONE
        + VALIDATE
        + "%sum, %made = updraft.sweep over row reads(%rows : !updraft.stream<f32, row>) "
        + "writes(%rows : !updraft.stream<f32, row>) "
        + "reduces [#updraft.reduction<sum over tensor>] -> f64, !updraft.stream<f32, row> {\n"
        + "^bb0(%n: f32):\n%square = arith.extf %n : f32 to f64\n%r = arith.negf %n : f32\n",
        "}\n",
        kind="matrix ",
    ),
    "Updraft_ElementsType": "func.func @f(%e: EXAMPLE) {\nreturn\n}",
    "Updraft_LocateOp": ACCESSES,
    "Updraft_ScratchOp": ACCESSES,
    "Updraft_ShiftOp": ACCESSES,
    "Updraft_ReadOp": ACCESSES.replace(", %x: vector<8xf32>", ""),
    "Updraft_WriteOp": ACCESSES,
    "Updraft_PrefetchOp": ACCESSES,
    "SimplifyPass": FUNCTION,
    "ExpandMathPass": FUNCTION,
    "PrefetchStreamsPass": LOOPS,
    "InvertDivisorsPass": LOOPS,
    "PipelineLoopsPass": LOOPS,
    "ApproximatePass": LOOPS,
}


def examples(path: pathlib.Path) -> list[str]:
    """The examples of one file, each in its setting."""
    found: list[str] = []
    owner, block = "", None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.match(r"def (\w+)", line):
            owner = match.group(1)
        if block is None and line.strip() == "```mlir":
            block = []
        elif block is not None and line.strip() == "```":
            text = "\n".join(block)
            if not re.match(r"\s*(updraft\.(rule|plan|variants)|func\.func|module)\b", text):
                if owner not in SETTING:
                    sys.exit(f"{path}:{number}: no setting for the example of `{owner}`")
                text = SETTING[owner].replace("EXAMPLE", text)
            found.append(f"// {path.name}:{number}\n{text}\n")
            block = None
        elif block is not None:
            block.append(line)
    return found


def defined_operations(path: pathlib.Path) -> set[str]:
    return set(re.findall(r"^def (Updraft_\w+Op)\b", path.read_text(), re.MULTILINE))


def main() -> None:
    paths = [pathlib.Path(argument) for argument in sys.argv[1:]]
    for path in paths:
        described = {
            match
            for match, body in re.findall(
                r"^def (Updraft_\w+Op)\b(.*?)^}", path.read_text(), re.MULTILINE | re.DOTALL
            )
            if "```mlir" in body
        }
        if missing := defined_operations(path) - described:
            sys.exit(f"{path}: no example of {', '.join(sorted(missing))}")
    print("\n// -----\n\n".join(example for path in paths for example in examples(path)))


if __name__ == "__main__":
    main()
