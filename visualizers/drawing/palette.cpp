#include "visualizers/drawing/palette.h"

#include <array>
#include <cstdio>

#include "visualizers/drawing/heat.h"

namespace trainyard {
namespace {

constexpr Rgba rgb(std::uint32_t hex24) {
  return {static_cast<std::uint8_t>(hex24 >> 16), static_cast<std::uint8_t>(hex24 >> 8),
          static_cast<std::uint8_t>(hex24), 255};
}

struct Entry {
  Ink ink;
  Rgba dark, light;
};

// In the order of Ink; a test walks it.
constexpr std::array<Entry, kInks> kTable = {{
    {Ink::Forward, rgb(0x0072B2), rgb(0x0072B2)},
    {Ink::Backward, rgb(0xE69F00), rgb(0xE69F00)},
    {Ink::WeightGradient, rgb(0x56B4E9), rgb(0x56B4E9)},
    {Ink::Recompute, rgb(0xF0E442), rgb(0xF0E442)},
    {Ink::Communication, rgb(0xCC79A7), rgb(0xCC79A7)},
    {Ink::Optimizer, rgb(0x009E73), rgb(0x009E73)},
    {Ink::Swap, rgb(0xD55E00), rgb(0xD55E00)},
    {Ink::MemoryContext, rgb(0x343A45), rgb(0xCDD2DA)},
    {Ink::MemoryWeights, rgb(0x545D6B), rgb(0xA3ABB7)},
    {Ink::MemoryOptimizer, rgb(0x009E73), rgb(0x009E73)},
    {Ink::MemoryGradients, rgb(0x56B4E9), rgb(0x56B4E9)},
    {Ink::MemoryActivations, rgb(0x0072B2), rgb(0x0072B2)},
    {Ink::Window, rgb(0x101216), rgb(0xE4E7EB)},
    {Ink::Chrome, rgb(0x1A1C21), rgb(0xF4F5F7)},
    {Ink::Panel, rgb(0x1A1C21), rgb(0xF9FAFB)},
    {Ink::Canvas, rgb(0x15171B), rgb(0xFFFFFF)},
    {Ink::Header, rgb(0x20232A), rgb(0xECEEF2)},
    {Ink::Raised, rgb(0x292D35), rgb(0xFFFFFF)},
    {Ink::Hover, rgb(0x323741), rgb(0xE2E6EC)},
    {Ink::Input, rgb(0x111317), rgb(0xFFFFFF)},
    {Ink::RowAlternate, rgb(0x1D2025), rgb(0xF3F5F7)},
    {Ink::Border, rgb(0x2B2F37), rgb(0xD6DAE0)},
    {Ink::BorderStrong, rgb(0x414752), rgb(0xAEB5C0)},
    {Ink::Grid, rgb(0x23262D), rgb(0xEBEDF1)},
    {Ink::Axis, rgb(0x4A505C), rgb(0x8A929E)},
    {Ink::Text, rgb(0xE5E8EC), rgb(0x15181C)},
    {Ink::Text2, rgb(0xA9B0BB), rgb(0x454D59)},
    {Ink::Text3, rgb(0x868E9A), rgb(0x636B77)},
    {Ink::Accent, rgb(0x9AA8FF), rgb(0x3D4FC4)},
    {Ink::AccentBackground, rgb(0x2B325A), rgb(0xE0E5FB)},
    {Ink::AccentText, rgb(0xDDE2FF), rgb(0x25349C)},
    {Ink::OnAccent, rgb(0x0E1120), rgb(0xFFFFFF)},
    {Ink::Ok, rgb(0x6CC0F2), rgb(0x005F96)},
    {Ink::OkBackground, rgb(0x16293A), rgb(0xE1F0FA)},
    {Ink::Warn, rgb(0xF0E442), rgb(0x7A5F00)},
    {Ink::WarnBackground, rgb(0x333015), rgb(0xFBF4CF)},
    {Ink::Error, rgb(0xFF8A4C), rgb(0xAE4200)},
    {Ink::ErrorBackground, rgb(0x3A2117), rgb(0xFCE9DF)},
    {Ink::Idle, rgb(0x4A505C), rgb(0xBCC2CC)},
    {Ink::Select, rgb(0xFFFFFF), rgb(0x000000)},
    {Ink::Cursor, rgb(0xF4F6F8), rgb(0x15181C)},
    {Ink::Range, rgb(0xFFFFFF), rgb(0x000000)},
    {Ink::Ghost, rgb(0x8F98A6), rgb(0x5D6673)},
    {Ink::TipBackground, rgb(0x0B0C0F), rgb(0xFFFFFF)},
    {Ink::Black, rgb(0x000000), rgb(0x000000)},
    {Ink::White, rgb(0xFFFFFF), rgb(0xFFFFFF)},
}};

constexpr bool in_order() {
  for (int i = 0; i < kInks; ++i)
    if (kTable[static_cast<std::size_t>(i)].ink != static_cast<Ink>(i)) return false;
  return true;
}
static_assert(in_order());

constexpr std::array<Rgba, kHeatSteps> kHeat = {
    {rgb(0x002051), rgb(0x022C65), rgb(0x14386D), rgb(0x2B446E), rgb(0x42506E), rgb(0x575C6E),
     rgb(0x696970), rgb(0x787573), rgb(0x868276), rgb(0x948F78), rgb(0xA49D78), rgb(0xB6AB73),
     rgb(0xCABA6A), rgb(0xE0C95D), rgb(0xF2D950), rgb(0xFDEA45)}};

bool is_data(Ink ink) { return ink <= Ink::MemoryActivations; }

Rgba with_alpha(Rgba c, std::uint8_t alpha) { return {c.r, c.g, c.b, alpha}; }

}  // namespace

Rgba colour(Ink ink, Theme theme) {
  if (is_heat(ink)) return kHeat[static_cast<std::size_t>(ink) - kInks];
  const Entry& entry = kTable[static_cast<std::size_t>(ink)];
  return theme == Theme::Dark ? entry.dark : entry.light;
}

Rgba colour(Pattern pattern, Theme theme) {
  switch (pattern) {
    case Pattern::None:
      return with_alpha(colour(Ink::Black, theme), 0);
    case Pattern::Idle:
      return colour(Ink::Idle, theme);
    case Pattern::Overflow:
      return colour(Ink::Error, theme);
    case Pattern::Ghost:
      return colour(Ink::Ghost, theme);
    case Pattern::Recompute:
      return with_alpha(colour(Ink::Black, theme), 140);
    case Pattern::Communication:
      return with_alpha(colour(Ink::Black, theme), 102);
    case Pattern::Swap:
      return with_alpha(colour(Ink::Black, theme), 128);
  }
  return {};
}

Pattern pattern_of(Ink ink) {
  if (ink == Ink::Recompute) return Pattern::Recompute;
  if (ink == Ink::Communication) return Pattern::Communication;
  if (ink == Ink::Swap) return Pattern::Swap;
  return Pattern::None;
}

bool outlined(Ink ink, Theme theme) { return theme == Theme::Light && is_data(ink); }

Rgba outline_colour(Ink ink, Theme theme) {
  const Rgba c = colour(ink, theme);
  const auto darker = [](std::uint8_t v) { return static_cast<std::uint8_t>((v * 62 + 50) / 100); };
  return {darker(c.r), darker(c.g), darker(c.b), c.a};
}

Ink label_ink(Ink on) {
  if (on == Ink::Forward || on == Ink::MemoryActivations) return Ink::White;
  if (on == Ink::MemoryContext || on == Ink::MemoryWeights) return Ink::Text;
  if (is_heat(on)) return on < heat(kHeatSteps / 2 - 1) ? Ink::White : Ink::Black;
  return is_data(on) ? Ink::Black : Ink::Text;
}

std::string hex(Rgba c) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "#%02X%02X%02X", c.r, c.g, c.b);
  return digits;
}

}  // namespace trainyard
