// Compares pictures with golden ones that somebody has approved.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/source_dir.h"
#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"

namespace trainyard::testing_golden {

inline std::string golden(const std::string& name) {
  return std::string(TRAINYARD_SOURCE_DIR) + "/tests/visualizers/golden/" + name;
}
inline bool rebase() { return std::getenv("TRAINYARD_REBASE") != nullptr; }

inline std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Alike but for the last bit of a channel, which another processor's mathematics may round the
// other way.
inline bool alike(const std::uint8_t* a, const std::uint8_t* b) {
  return std::equal(a, a + 4, b, [](int x, int y) { return std::abs(x - y) <= 1; });
}

// Differing pixels white, the others black.
inline Image difference(const Image& a, const Image& b) {
  Image out;
  resize(out, a.width, a.height);
  for (std::size_t i = 0; i < a.rgba.size(); i += 4) {
    const bool same = alike(&a.rgba[i], &b.rgba[i]);
    for (std::size_t c = 0; c < 3; ++c) out.rgba[i + c] = same ? 0 : 255;
    out.rgba[i + 3] = 255;
  }
  return out;
}

inline void expect_golden(const std::string& svg, const std::string& name) {
  if (rebase()) write(golden(name), svg);
  EXPECT_TRUE(svg == read(golden(name)))
      << name << " is not what it was; TRAINYARD_REBASE=1 writes it";
}

// In both themes: NAME_dark.svg and NAME_light.svg.
inline void expect_golden(const Drawing& drawing, const std::string& name) {
  expect_golden(to_svg(drawing, Theme::Dark), name + "_dark.svg");
  expect_golden(to_svg(drawing, Theme::Light), name + "_light.svg");
}

inline void expect_golden(const Image& found, const std::string& name) {
  if (rebase()) write(golden(name), to_png(found));
  const std::string bytes = read(golden(name));
  ASSERT_FALSE(bytes.empty()) << "no " << golden(name) << "; TRAINYARD_REBASE=1 writes it";
  const Image expected = read_png(bytes);
  ASSERT_EQ(found.width, expected.width);
  ASSERT_EQ(found.height, expected.height);
  bool same = true;
  for (std::size_t i = 0; i < found.rgba.size(); i += 4)
    same = same && alike(&found.rgba[i], &expected.rgba[i]);
  if (same) return;
  const std::string at = ::testing::TempDir() + "trainyard_";
  write(at + name, to_png(found));
  write(at + "difference_" + name, to_png(difference(found, expected)));
  ADD_FAILURE() << name << " is not what it was: see " << at << name << " and " << at
                << "difference_" << name;
}

}  // namespace trainyard::testing_golden
