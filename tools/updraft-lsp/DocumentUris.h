//===- DocumentUris.h - Documents that are no files ---------------------------------*- C++ -*-===//
// Editors give a document that was never saved a URI such as `untitled:Untitled-1`. LLVM's protocol
// only reads URIs of schemes that it knows, whose path starts with a slash.

#ifndef UPDRAFT_TOOLS_LSP_DOCUMENTURIS_H
#define UPDRAFT_TOOLS_LSP_DOCUMENTURIS_H

#include "llvm/Support/JSON.h"

#include <map>
#include <string>

namespace updraft {

class DocumentUris {
public:
  /// Gives the `textDocument` of a message a URI that LLVM reads.
  void toServer(llvm::json::Value &params);
  /// Restores every `uri` in a value to what the editor wrote.
  llvm::json::Value toEditor(llvm::json::Value value) const;

private:
  std::map<std::string, std::string> editorUris; ///< by the server's
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_DOCUMENTURIS_H
