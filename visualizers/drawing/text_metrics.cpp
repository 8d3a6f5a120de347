#include "visualizers/drawing/text_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace trainyard {
namespace {

// Advance widths in thousandths of an em, characters 32 to 126, from Inter 4.0 (SIL Open Font
// License).
using Advances = std::array<std::uint16_t, 95>;
constexpr Advances kRegular = {
    281, 278, 403, 631, 638, 813, 639, 222, 362, 362, 500, 659, 280, 460, 276, 357, 625, 464, 605,
    636, 642, 608, 624, 571, 616, 624, 276, 280, 659, 659, 659, 507, 936, 676, 651, 727, 719, 598,
    587, 743, 740, 264, 543, 652, 563, 889, 753, 761, 635, 761, 639, 638, 642, 741, 676, 949, 642,
    665, 625, 362, 357, 362, 469, 452, 497, 564, 621, 558, 621, 582, 361, 609, 591, 237, 237, 544,
    237, 869, 585, 597, 609, 609, 372, 523, 364, 581, 557, 813, 540, 557, 541, 362, 327, 362, 659};
constexpr Advances kMedium = {
    265, 294, 400, 637, 643, 828, 651, 217, 378, 378, 522, 666, 288, 463, 283, 368, 646, 473, 613,
    644, 654, 620, 636, 579, 631, 636, 283, 288, 666, 666, 666, 526, 968, 700, 654, 735, 722, 603,
    586, 749, 742, 270, 552, 664, 564, 898, 747, 768, 639, 768, 645, 643, 651, 738, 700, 978, 666,
    685, 639, 378, 368, 378, 475, 460, 497, 569, 626, 568, 626, 587, 369, 617, 602, 249, 249, 556,
    249, 884, 597, 602, 617, 617, 384, 536, 372, 594, 566, 825, 551, 566, 551, 378, 342, 378, 666};
constexpr Advances kSemiBold = {
    248, 309, 396, 643, 649, 844, 663, 213, 393, 393, 543, 673, 295, 466, 290, 379, 667, 481,  621,
    652, 666, 632, 648, 587, 646, 648, 290, 295, 673, 673, 673, 544, 999, 724, 657, 744, 724,  608,
    586, 755, 744, 275, 561, 677, 566, 906, 741, 775, 643, 776, 651, 649, 660, 734, 724, 1007, 690,
    705, 653, 393, 379, 393, 481, 468, 497, 575, 630, 577, 630, 593, 377, 625, 613, 261, 261,  569,
    261, 898, 610, 608, 625, 625, 397, 549, 380, 608, 576, 837, 563, 576, 562, 393, 358, 393,  673};

constexpr float kMono = 0.6f;    // of an em, every character
constexpr float kOther = 0.66f;  // signs such as ± × −, and what is not known
constexpr std::uint32_t kThinSpace = 0x2009, kEllipsis = 0x2026, kMiddleDot = 0xB7;

const Advances& advances(Weight weight) {
  return weight == Weight::Regular ? kRegular : weight == Weight::Medium ? kMedium : kSemiBold;
}

float advance(std::uint32_t c, Weight weight) {
  const Advances& table = advances(weight);
  // Tabular figures: all as wide as the widest, which the canvas does too.
  if (c >= '0' && c <= '9')
    c = weight == Weight::Regular ? '4' : weight == Weight::Medium ? '4' : '0';
  if (c >= 32 && c < 127) return static_cast<float>(table[c - 32]) / 1000;
  if (c == kThinSpace) return 0.173f;
  if (c == kEllipsis) return 0.814f;
  if (c == kMiddleDot) return 0.283f;
  return kOther;
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

// The first character of a text that is not empty; a byte that begins none stands for itself.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t bytes = byte(0) < 0x80    ? 1
                            : byte(0) >= 0xF0 ? 4
                            : byte(0) >= 0xE0 ? 3
                            : byte(0) >= 0xC0 ? 2
                                              : 1;
  if (bytes == 1 || bytes > text.size()) return {byte(0), 1};
  std::uint32_t code = byte(0) & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {byte(0), 1};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  return {code, bytes};
}

}  // namespace

float text_width(std::string_view text, float size, Weight weight, Face face) {
  float ems = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    ems += face == Face::Mono ? kMono : advance(c.code, weight);
    text.remove_prefix(c.bytes);
  }
  return ems * size;
}

std::string fit_text(std::string_view text, float width, float size, Weight weight, Face face) {
  if (text_width(text, size, weight, face) <= width) return std::string(text);
  const std::string ellipsis = "\u2026";
  float left = width - text_width(ellipsis, size, weight, face);
  std::size_t kept = 0;
  while (kept < text.size()) {
    const Character c = first_character(text.substr(kept));
    left -= text_width(text.substr(kept, c.bytes), size, weight, face);
    if (left < 0) break;
    kept += c.bytes;
  }
  return kept == 0 ? "" : std::string(text.substr(0, kept)) + ellipsis;
}

std::vector<std::string> wrapped_lines(std::string_view words, float width, float size,
                                       Weight weight) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word(words.substr(at, end - at));
    std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && text_width(longer, size, weight) > width) {
      lines.push_back(std::exchange(line, word));
    } else {
      line = std::move(longer);
    }
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace trainyard
