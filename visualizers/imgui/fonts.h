// Which font files a canvas reads, and where the system keeps them.
#pragma once

#include <string>

namespace trainyard {

/// Paths of OpenType files. An empty `regular` means the embedded 13 px ASCII font for everything;
/// any other empty path falls back to `regular`.
struct FontFiles {
  std::string regular, medium, semi_bold, mono;
};

/// Inter and JetBrains Mono where installed under /usr/share/fonts or $TRAINYARD_FONTS (searched
/// first), else DejaVu, else empty.
FontFiles font_files();

}  // namespace trainyard
