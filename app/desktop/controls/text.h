#pragma once

#include <QString>
#include <string_view>

namespace trainyard {

/// UTF-8 text of ours as Qt's.
inline QString q(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace trainyard
