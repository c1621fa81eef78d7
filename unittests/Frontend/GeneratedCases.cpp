//===- GeneratedCases.cpp - Limits, and bytes that aren't text --------------------------------===//

#include "ErrorCases.h"

#include "updraft/Frontend/Parser.h"

using namespace updraft;
using namespace updraft::test;

namespace {
std::string repeated(const std::string &text, unsigned count) {
  std::string result;
  for (unsigned i = 0; i < count; ++i)
    result += text;
  return result;
}

// One error with the caret under a single column of a line.
std::string oneError(const std::string &place, const std::string &message, const std::string &line,
                     size_t column, size_t width = 1) {
  return "rule.upd:" + place + ": error: " + message + "\n" + line + "\n" +
         std::string(column - 1, ' ') + "^" + std::string(width - 1, '~') + "\n";
}

const std::string knownInFunctions = "; a function knows its parameters and its own values only";

ErrorCase largeFile() {
  std::string text = "// " + std::string(maxFileSize, 'x');
  return {"file too large",
          {},
          text,
          {},
          oneError("1:1", "the file has too many bytes; at most 65536 are allowed",
                   text.substr(0, 240), 1)};
}

ErrorCase manyErrors() {
  ErrorCase result{"too many errors", {}, "", {}, ""};
  for (unsigned i = 0; i < 25; ++i) {
    std::string name(1, static_cast<char>('a' + i)), line = "fn " + name + "() = 1 + zzzz";
    result.source += line + "\n";
    if (i < 20)
      result.expected += oneError(std::to_string(i + 1) + ":14",
                                  "unknown name `zzzz`" + knownInFunctions, line, 14, 4);
  }
  result.expected += "error: more than 20 errors; the rest are not shown\n";
  return result;
}

ErrorCase deepParentheses() {
  std::string line = "fn f(x) = " + repeated("(", 10000) + "x" + repeated(")", 10000);
  return {"deep parentheses",
          {},
          line,
          {},
          oneError("1:75", "expressions nest more than 64 deep; name a part of it with `let`",
                   line.substr(0, 240), 75)};
}

ErrorCase longChain() {
  std::string line = "fn f(x) = x" + repeated("+x", 10000);
  return {"long chain",
          {},
          line,
          {},
          oneError("1:522",
                   "the expression has more than 256 operators in a row; name a part of it "
                   "with `let`",
                   line.substr(401, 240), 121)};
}

// Each function calls the one before twice: 2^20 expansions.
ErrorCase doubling(const std::string &name, const std::string &argument) {
  std::string functions = "fn f0(x) = x * x\n";
  for (int i = 1; i <= 20; ++i)
    functions += "fn f" + std::to_string(i) + "(x) = f" + std::to_string(i - 1) + "(x) + f" +
                 std::to_string(i - 1) + "(x)\n";
  std::string rule =
      "rule R(lr = 1) { update(param, grad) { next param = f20(" + argument + ") } }";
  return {
      name,
      {},
      functions + rule,
      {},
      oneError("22:53",
               "the rule expands to more than 4000 operations; each `exp`, `log`, `max`, `min`, "
               "`pow`, `tanh` and product of matrices counts as 5, each reduction as 25; functions "
               "are expanded at every call, so call fewer or smaller ones",
               rule, 53, 3)};
}

// Twice the maximum depth, although no single function is deep.
ErrorCase deepCalls() {
  std::string functions = "fn f0(x) = x * x\n";
  for (int i = 1; i <= 400; ++i)
    functions += "fn f" + std::to_string(i) + "(x) = -f" + std::to_string(i - 1) + "(x)\n";
  std::string rule = "rule R(lr = 1) { update(param, grad) { next param = f400(grad) } }";
  return {"deep calls",
          {},
          functions + rule,
          {},
          oneError("402:53",
                   "calls and operators nest more than 400 deep when functions are expanded", rule,
                   53, 4)};
}

ErrorCase manyFiles() {
  ErrorCase result{"too many files", {}, "", {}, ""};
  for (int i = 1; i <= 64; ++i) {
    std::string name = "f" + std::to_string(i) + ".upd";
    result.source += "import \"" + name + "\"\n";
    result.files.emplace_back(name, "fn g" + std::to_string(i) + "(x) = x\n");
  }
  result.expected = oneError("64:8", "more than 64 files are imported", "import \"f64.upd\"", 8, 9);
  return result;
}

ErrorCase manyProbes() {
  ErrorCase result{"too many probes", {}, "rule R() {\n  update(param) {\n", {}, ""};
  for (int i = 1; i <= 65; ++i)
    result.source += "    probe p" + std::to_string(i) + " = norm(param)\n";
  result.source += "    next param = param\n  }\n}\n";
  result.expected = oneError("67:11",
                             "rule `R` has 65 probes, and each count of a histogram is one; "
                             "at most 64 are allowed",
                             "    probe p65 = norm(param)", 11, 3);
  return result;
}

ErrorCase manyStates() {
  ErrorCase result{"too many states", {}, "rule R() {\n", {}, ""};
  for (int i = 1; i <= 65; ++i)
    result.source += "  state s" + std::to_string(i) + " = 0\n";
  result.source += "  update(param, grad) { next param = param - grad }\n}\n";
  result.expected =
      oneError("66:9", "rule `R` has 65 states; at most 64 are allowed", "  state s65 = 0", 9, 3);
  return result;
}

// A message quotes only part of the input.
std::vector<ErrorCase> longInputs() {
  std::string number = "fn f(x) = x + 1." + std::string(60000, '1') + ".1";
  std::string path = "import \"" + std::string(10000, 'a') + ".upd\"";
  return {
      {"number of many digits",
       {},
       number,
       {},
       oneError("1:15",
                "`1." + std::string(118, '1') + "…" + std::string(78, '1') +
                    ".1` is not a number; write it like `12`, `0.5` or `1e-3`",
                number.substr(0, 240), 15, 226)},
      {"import of a long path",
       {},
       path,
       {},
       oneError("1:8",
                "cannot read `" + std::string(120, 'a') + "…" + std::string(76, 'a') +
                    ".upd`: File name too long",
                path.substr(0, 240), 8, 233)},
      {"setting of a long name",
       {"", {{std::string(1000, 's'), "1"}}, {}},
       "rule R(lr = 1) { update(param, grad) { next param = param } }",
       {},
       "error: the rule `R` has no hyperparameter or static flag `" + std::string(120, 's') + "…" +
           std::string(80, 's') + "`; there is `lr`\n"},
      {"setting of a long value",
       {"", {{"lr", std::string(90, 'v')}}, {}},
       "rule R(lr = 1) { update(param, grad) { next param = param } }",
       {},
       "<setting lr>:1:1: error: `lr` must be a scalar, found `" + std::string(90, 'v') + "`\n" +
           std::string(90, 'v') + "\n^" + std::string(89, '~') + "\n"},
      {"names of any bytes",
       {"",
        {{"a\xFF\n\x1B[2J\xC2\x9B"
          "é",
          "1"}},
        {}},
       "rule R(lr = 1) { update(param, grad) { next param = param } }",
       {},
       "error: the rule `R` has no hyperparameter or static flag `a???[2J?é`; there is `lr`\n"}};
}

ErrorCase textCase(const std::string &name, const std::string &text, const std::string &expected) {
  return {name, {}, text, {}, expected.empty() ? "" : "rule.upd:" + expected};
}

// A file must be UTF-8 text, including comments and strings.
std::vector<ErrorCase> bytesThatAreNoText() {
  auto comment = [](const std::string &name, const std::string &bytes, const std::string &message,
                    size_t shownAs) {
    return textCase(name + " in a comment", "fn f(x) = x // é " + bytes + "!",
                    "1:19: error: " + message + "\nfn f(x) = x // é " + std::string(shownAs, '?') +
                        "!\n" + std::string(17, ' ') + "^\n");
  };
  auto notPart = [](const std::string &what) { return what + " is not part of the language"; };
  auto notUtf8 = [](const std::string &byte) {
    return "byte 0x" + byte + " is not UTF-8; save the file as UTF-8";
  };
  return {
      comment("zero byte", std::string(1, '\0'), notPart("byte 0x00"), 1),
      comment("escape", "\x1B", notPart("byte 0x1B"), 1),
      comment("control character of two bytes", "\xC2\x9B", notPart("U+009B"), 1),
      comment("byte that is no UTF-8", "\xFF", notUtf8("FF"), 1),
      comment("half a surrogate pair", "\xED\xA0\x80", notUtf8("ED"), 3),
      comment("overlong form", "\xC0\xAF", notUtf8("C0"), 2),
      comment("number beyond Unicode", "\xF4\x90\x80\x80", notUtf8("F4"), 4),
      comment("cut character", "\xE2\x82", notUtf8("E2"), 2),
      textCase("Latin-1 gives one error", "// gr\xF6\xDF\x65r\nfn f(x) = x // \xE4\xF6\xFC\n",
               "1:6: error: byte 0xF6 is not UTF-8; save the file as UTF-8\n// gr??er\n     ^\n"),
      textCase("UTF-16 gives one error",
               std::string("\xFF\xFE"
                           "f\0n\0 \0g\0",
                           10),
               "1:1: error: byte 0xFF is not UTF-8; save the file as UTF-8\n??f?n? ?g?\n^\n"),
      textCase("byte that is no UTF-8 in a string", "import \"a\xFF\"",
               "1:10: error: byte 0xFF is not UTF-8; save the file as UTF-8\nimport \"a?\"\n"
               "         ^\n"),
      textCase("form feed", "fn f(x) = x\n\fn g(x) = x",
               "2:1: error: byte 0x0C is not part of the language\n?n g(x) = x\n^\n"),
      textCase("vertical tab", "fn f(x) =\vx",
               "1:10: error: byte 0x0B is not part of the language\nfn f(x) =?x\n         ^\n"),
      textCase("carriage return alone", "// a comment\rfn f(x) = x\r",
               "1:13: error: byte 0x0D is not part of the language; a line ends with LF or CR LF\n"
               "// a comment?fn f(x) = x\n            ^\n"),
      textCase(
          "columns behind a byte order mark",
          "\xEF\xBB\xBF"
          "fn f(x) = y\n",
          oneError("1:11", "unknown name `y`" + knownInFunctions, "fn f(x) = y", 11).substr(9)),
      textCase("byte order mark within a line", "fn f(x) = \xEF\xBB\xBFx",
               "1:11: error: `\xEF\xBB\xBF` is not part of the language; names are made of the "
               "letters a to z, digits and `_`\nfn f(x) = \xEF\xBB\xBFx\n          ^\n"),
      textCase("escape of a character of several bytes", "import \"a\\é\"",
               "1:10: error: `\\é` is not an escape; a string may hold `\\\"`, `\\\\`, `\\n` and "
               "`\\t`\nimport \"a\\é\"\n         ^~\n"),
      {"setting of bytes that are no text",
       {"", {{"kind", "a\xFF"}}, {}},
       "rule R(static kind = \"a\") { update(param, grad) { next param = param } }",
       {},
       "<setting kind>:1:2: error: byte 0xFF is not UTF-8; save the file as UTF-8\na?\n ^\n"},
  };
}

// Each stage is within the limit, but not all together.
ErrorCase manyStatesOfStages() {
  ErrorCase result{"too many states in a chain", {}, "transform t() {\n", {}, ""};
  for (int i = 1; i <= 32; ++i)
    result.source += "  state s" + std::to_string(i) + " = 0\n";
  result.source += "  update(grad) { next grad = grad }\n}\n"
                   "rule R() { state s = 0 update(param, grad) { next param = param - grad } }\n"
                   "rule C = t |> t |> R\n";
  result.expected = oneError("37:6", "rule `C` has 65 states; at most 64 are allowed",
                             "rule C = t |> t |> R", 6, 1);
  return result;
}

ErrorCase largeImport() {
  return {"import that is too large",
          {},
          "import \"big.upd\"",
          {{"big.upd", std::string(maxFileSize + 1, ' ')}},
          oneError("1:8", "cannot read `big.upd`: it has more than 65536 bytes",
                   "import \"big.upd\"", 8, 9)};
}

std::vector<ErrorCase> makeCases() {
  std::vector<ErrorCase> cases = {
      largeFile(),
      manyErrors(),
      deepParentheses(),
      longChain(),
      doubling("doubling functions", "grad"),
      // Constants make no operations, but take time.
      doubling("doubling constants", "2"),
      deepCalls(),
      manyFiles(),
      manyProbes(),
      manyStates(),
      manyStatesOfStages(),
      largeImport(),
      {"byte that is no UTF-8",
       {},
       "fn f(x) = \xFF",
       {},
       "rule.upd:1:11: error: byte 0xFF is not UTF-8; save the file as UTF-8\n"
       "fn f(x) = ?\n          ^\n"},
      {"zero byte",
       {},
       std::string("fn f(x) = \0", 11),
       {},
       "rule.upd:1:11: error: byte 0x00 is not part of the language\n"
       "fn f(x) = ?\n          ^\n"},
      {"control character in a string",
       {},
       "import \"a\x1B[2Jb\"",
       {},
       "rule.upd:1:10: error: byte 0x1B is not part of the language\n"
       "import \"a?[2Jb\"\n         ^\n"},
      {"lines that end with CR LF",
       {},
       "fn f(x) = 1\r\nfn g(x) = y\r\n",
       {},
       oneError("2:11", "unknown name `y`" + knownInFunctions, "fn g(x) = y", 11)},
  };
  for (const auto &more : {longInputs(), bytesThatAreNoText()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}
} // namespace

const std::vector<ErrorCase> &updraft::test::generatedCases() {
  static const std::vector<ErrorCase> cases = makeCases();
  return cases;
}
