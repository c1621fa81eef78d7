//===- DocumentUris.h - URIs of unsaved documents -----------------------------------*- C++ -*-===//
// Editors give an unsaved document a URI such as `untitled:Untitled-1`. LLVM's protocol only
// accepts known schemes, and paths that start with a slash.

#ifndef UPDRAFT_TOOLS_LSP_DOCUMENTURIS_H
#define UPDRAFT_TOOLS_LSP_DOCUMENTURIS_H

#include "llvm/Support/JSON.h"

#include <map>
#include <string>

namespace updraft {

class DocumentUris {
public:
  /// Replaces the `textDocument` URI of a message with one that LLVM accepts.
  void toServer(llvm::json::Value &params);
  /// Restores the editor's spelling of every `uri` in a value.
  llvm::json::Value toEditor(llvm::json::Value value) const;

private:
  std::map<std::string, std::string> editorUris; ///< by the server's URI
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_DOCUMENTURIS_H
