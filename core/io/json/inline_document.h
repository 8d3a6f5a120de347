// A document on one line may stand where a word names a model or a cluster, so that a project
// contains what was built in the window and does not depend on a file beside it.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/json.h"

namespace trainyard {

/// Returns whether the word is a document: it begins with a brace, with which no name or path
/// begins.
bool is_inline_document(std::string_view word);
/// Returns the document as such a word; equal documents give equal words.
std::string inline_document(const Json&);
/// Returns how a list shows a word: the name inside an inline document, the last part of a path,
/// else the word itself.
std::string word_title(std::string_view word);

}  // namespace trainyard
