#include "core/base/error.h"

#include <algorithm>

namespace trainyard {

Error::Error(Kind kind, const std::string& message, Place place)
    : std::runtime_error(message), kind_(kind), place_(std::move(place)) {}

void refuse(const std::string& place, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, {place});
}

void refuse(const std::string& sentence) { throw Error(Error::Kind::InvalidInput, sentence); }

std::string describe(const Error& error) {
  std::string text = error.place().text.empty() ? std::string() : error.place().text + ": ";
  text += error.what();
  for (std::size_t i = 0; i < error.context().size(); ++i)
    text += (i == 0 ? " (while " : ", while ") + error.context()[i];
  if (!error.context().empty()) text += ")";
  return text;
}

bool has_errors(const Diagnostics& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const Diagnostic& d) { return d.severity == Diagnostic::Severity::Error; });
}

void throw_if_errors(const Diagnostics& list) {
  std::string message;
  Place first;
  for (const Diagnostic& d : list) {
    if (d.severity != Diagnostic::Severity::Error) continue;
    if (message.empty()) {
      first = d.place;
    } else {
      message += "\n";
      if (!d.place.text.empty()) message += d.place.text + ": ";
    }
    message += d.message;
    if (!d.fix.empty()) message += "; try " + d.fix;
  }
  if (!message.empty()) throw Error(Error::Kind::InvalidInput, message, first);
}

}  // namespace trainyard
