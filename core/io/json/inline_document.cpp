#include "core/io/json/inline_document.h"

namespace trainyard {

bool is_inline_document(std::string_view word) { return word.starts_with('{'); }

std::string inline_document(const Json& document) {
  std::string word = write_json_line(document);
  while (!word.empty() && word.back() == '\n') word.pop_back();
  return word;
}

std::string word_title(std::string_view word) {
  if (is_inline_document(word)) {
    try {
      const Json document = parse_json(word, "word");
      const Json* name = document.find("name");
      if (name != nullptr && name->text() != nullptr) return *name->text();
    } catch (const Error&) {
      return "a document that cannot be read";
    }
    return "a document";
  }
  while (word.ends_with('/')) word.remove_suffix(1);
  const std::size_t slash = word.rfind('/');
  return std::string(slash == std::string_view::npos ? word : word.substr(slash + 1));
}

}  // namespace trainyard
