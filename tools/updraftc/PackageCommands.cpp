//===- PackageCommands.cpp - updraftc pack, inspect and verify --------------------------------===//

#include "PackageCommands.h"

#include "OutputFile.h"
#include "runtime/package/Machine.h"
#include "runtime/package/PackagedRule.h"
#include "runtime/package/SampleCheck.h"
#include "runtime/package/Signature.h"
#include "tools/options/KeyFile.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Packager/Packager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace updraft;
using package::Image;
using package::Package;
using package::Section;

static llvm::Error errorOf(const runtime::Status &status) {
  return status.ok() ? llvm::Error::success() : makeError(status.code(), status.message());
}

PackageCommands::PackageCommands(CLI::App &app)
    : pack(app.add_subcommand("pack", "Compile a rule for several targets, to one file")),
      inspect(app.add_subcommand("inspect", "Show what a package contains")),
      verify(app.add_subcommand("verify", "Run a package's sample on this machine")) {
  rule.addWithoutStorage(*pack);
  pack->add_option(
          "--storage", variants,
          "NAME=TYPE,...: the storage types of a variant, as for compiling; repeat it for\n"
          "several variants, of which the first is the default")
      ->type_name("TYPES")
      ->allow_extra_args(false);
  pack->add_option("--target", targets,
                   "The targets, for example x86-64-v3,aarch64,nvptx:sm_90 (default: x86-64-v2,\n"
                   "x86-64-v3, x86-64-v4 and aarch64)")
      ->delimiter(',')
      ->type_name("TARGET")
      ->allow_extra_args(false);
  pack->add_option("-o,--output", output, "The package to write (default: FILE.updraft)");
  addKeyFile(*pack, "--sign", privateKey,
             "Sign it with the private Ed25519 key in a PEM file, as\n"
             "`openssl genpkey -algorithm ed25519 -out key.pem` writes one",
             "KEY.pem");
  pack->get_formatter()->column_width(30);

  inspect->add_option("FILE", file, "The package (.updraft)")->required();
  inspect->add_flag("--json", json, "Print the description: the rule, its options and interfaces");
  inspect->add_option("--section", part, "Print the content of the section with this number");

  verify->add_option("FILE", file, "The package (.updraft)")->required();
  addKeyFile(*verify, "--require-signature", publicKey,
             "Also require the signature of the public Ed25519 key in a PEM file, as\n"
             "`openssl pkey -in key.pem -pubout` prints one",
             "PUBLIC.pem");
}

llvm::Error PackageCommands::check(const CLI::App &app) const {
  const std::string name = command()->get_name();
  for (const CLI::Option *option : app.get_options())
    if (option->count())
      return makeError(UPD_INVALID_ARGUMENT,
                       "`" + option->get_name() + "` comes before `" + name +
                           "`, which would ignore it; write the options of `" + name +
                           "` after it, and see updraftc " + name + " --help");
  return llvm::Error::success();
}

llvm::Error PackageCommands::run() const {
  return pack->parsed() ? runPack() : inspect->parsed() ? runInspect() : runVerify();
}

static llvm::Expected<std::string> readKey(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(UPD_IO_ERROR,
                     "cannot read the key `" + path + "`: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

llvm::Error PackageCommands::runPack() const {
  auto request = rule.makeRequest("host");
  if (!request)
    return request.takeError();
  PackRequest packed;
  packed.rule = std::move(*request);
  packed.targets = targets;
  if (targets.empty())
    packed.targets = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
  for (const std::string &variant : variants) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(variant).split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    auto storage = RuleOptions::parseStorage(std::vector<std::string>(parts.begin(), parts.end()));
    if (!storage)
      return storage.takeError();
    packed.variants.push_back(std::move(*storage));
  }
  if (!privateKey.empty()) {
    auto key = readKey(privateKey);
    if (!key)
      return key.takeError();
    packed.privateKey = std::move(*key);
  }
  if (output.empty() && rule.file == "-")
    return makeError(UPD_INVALID_ARGUMENT,
                     "the rule comes from the standard input; name the package with -o");
  const std::string path =
      output.empty() ? (llvm::sys::path::stem(rule.file) + ".updraft").str() : output;
  if (llvm::Error error = checkOutput("-o", path, packed.rule))
    return error;
  return writeTo(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    auto bytes = packRule(packed);
    if (!bytes)
      return bytes.takeError();
    os << *bytes;
    return llvm::Error::success();
  });
}

static llvm::StringRef nameOf(upd_package_kind kind) {
  static constexpr llvm::StringRef names[] = {"info",   "source",    "text",    "variants",
                                              "images", "functions", "imports", "descriptor",
                                              "code",   "ptx",       "sample",  "signature"};
  const auto number = static_cast<size_t>(kind);
  return number < std::size(names) ? names[number] : "unknown";
}

static void printPackage(const Package &package, llvm::raw_ostream &os) {
  os << llvm::formatv("package      {0}, {1} bytes, format {2}.{3}\n", package.name(),
                      package.size(), int(UPD_PACKAGE_BREAKS), package.extends());
  os << "sha256       " << llvm::toHex(package.digest(), /*LowerCase=*/true) << '\n';
  os << "signature    "
     << (package.signature() ? llvm::toHex(package.signature()->public_key, /*LowerCase=*/true)
                             : "none")
     << '\n';
  for (const package::Variant &variant : package.variants())
    os << llvm::formatv("variant      `{0}`\n", variant.name);
  const package::Machine &machine = package::Machine::host();
  for (const Image &image : package.images())
    os << llvm::formatv("image        {0,-16} variant `{1}`, {2} bytes{3}\n", image.target,
                        package.variants()[image.variant].name, image.code.size(),
                        machine.runs(image.architecture, image.level) ? ", runs here" : "");
  os << "\nsection  kind              offset     bytes  sha256\n";
  for (auto [number, section] : llvm::enumerate(package.sections()))
    os << llvm::formatv("{0,7}  {1,-12} {2,11} {3,9}  {4}\n", number, nameOf(section.kind),
                        section.offset, section.content.size(),
                        llvm::toHex(section.digest, /*LowerCase=*/true));
}

llvm::Error PackageCommands::runInspect() const {
  std::shared_ptr<const Package> opened;
  if (llvm::Error error = errorOf(Package::openFile(file, opened)))
    return error;
  return writeTo("-", [&](llvm::raw_ostream &os) -> llvm::Error {
    if (json) {
      os << opened->info();
    } else if (!part.empty()) {
      size_t number = 0;
      if (llvm::StringRef(part).getAsInteger(10, number) || number >= opened->sections().size())
        return makeError(UPD_INVALID_ARGUMENT,
                         llvm::formatv("unknown section `{0}`; the package has sections 0 to {1}",
                                       part, opened->sections().size() - 1)
                             .str());
      os << llvm::StringRef(opened->sections()[number].content);
    } else {
      printPackage(*opened, os);
    }
    return llvm::Error::success();
  });
}

/// Refuses a package without the signature of the key.
static llvm::Error checkSignature(const Package &package, const std::string &keyFile) {
  auto text = readKey(keyFile);
  if (!text)
    return text.takeError();
  package::PublicKey key;
  if (llvm::Error error = errorOf(package::readPublicKey(*text, key)))
    return error;
  return errorOf(package::checkSigned(package, key));
}

llvm::Error PackageCommands::runVerify() const {
  std::shared_ptr<const Package> opened;
  if (llvm::Error error = errorOf(Package::openFile(file, opened)))
    return error;
  if (!publicKey.empty())
    if (llvm::Error error = checkSignature(*opened, publicKey))
      return error;
  const package::Machine &machine = package::Machine::host();
  return writeTo("-", [&](llvm::raw_ostream &os) -> llvm::Error {
    bool ran = false;
    for (const Image &image : opened->images()) {
      const std::string &variant = opened->variants()[image.variant].name;
      if (!machine.runs(image.architecture, image.level)) {
        os << llvm::formatv("{0,-16} variant `{1}`: not run, this CPU supports `{2}`\n",
                            image.target, variant, machine.name());
        continue;
      }
      package::SampleSize compared;
      if (llvm::Error error = errorOf(package::checkSample(*opened, image, compared)))
        return error;
      ran = true;
      if (compared.otherBits) {
        os << llvm::formatv(
            "{0,-16} variant `{1}`: ran {2} steps; no comparison, {3} may have other "
            "bits than the sample\n",
            image.target, variant, compared.steps, compared.otherBits);
        continue;
      }
      os << llvm::formatv("{0,-16} variant `{1}`: {2} bytes in {3} tensors are the same after {4} "
                          "steps\n",
                          image.target, variant, compared.bytes, compared.tensors, compared.steps);
    }
    const Image *image = nullptr;
    return ran ? llvm::Error::success() : errorOf(package::findForHost(*opened, 0, image));
  });
}
