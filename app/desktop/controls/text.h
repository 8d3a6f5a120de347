#pragma once

#include <QString>
#include <string_view>

namespace trainyard {

/// Converts UTF-8 text to a QString.
inline QString q(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace trainyard
