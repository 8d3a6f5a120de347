// Where a word names a model or a cluster, a document on one line may stand for it: what someone
// built in the window is carried by the project itself and not by a file beside it.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/json.h"

namespace trainyard {

/// Whether the word is the document itself: it begins with a brace, as no name and no path of
/// anybody's does.
bool is_inline_document(std::string_view word);
/// The document as such a word; equal documents give equal words.
std::string inline_document(const Json&);
/// What a list calls a word: the name that an inline document gives itself, the last part of a
/// path, else the word.
std::string word_title(std::string_view word);

}  // namespace trainyard
