// The difference of two plans as a waterfall: from the one's time (or bytes) to the other's, a bar
// a cause. All figures are whole nanoseconds or bytes, so that the bars sum to the difference
// exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/timeline/metrics.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct WaterfallPart {
  std::string name;  // "tensor parallel"
  std::string note;  // a second, smaller line; may be empty
  std::int64_t a = 0, b = 0;
  std::int64_t change() const { return b - a; }
};

enum class WaterfallUnit : std::uint8_t { Time, Memory };

struct WaterfallModel {
  WaterfallUnit unit = WaterfallUnit::Time;
  std::string title;           // "Step time, A to B"
  std::string a_name, b_name;  // what the bars at both ends are called
  std::vector<WaterfallPart> parts;
  /// Nanoseconds or bytes; the sums of the parts.
  std::int64_t a() const;
  std::int64_t b() const;
};

/// Parts that neither has are left out.
WaterfallModel time_waterfall(std::string a_name, const Breakdown& a, std::string b_name,
                              const Breakdown& b);
/// A device's memory: by category, and what its process and allocator hold beyond those up to
/// `reserved`, where that is more.
struct MemorySide {
  std::string name;
  CategoryBytes categories{};
  Bytes reserved{};
};
WaterfallModel memory_waterfall(const MemorySide& a, const MemorySide& b);

/// px that all rows take.
float waterfall_height(const WaterfallModel&);
/// Items: Other, tag the part; the totals have parts.size() (a) and parts.size() + 1 (b).
void draw_waterfall(Drawing&, const Rect& area, const WaterfallModel&, const ViewState&);
Hover describe_waterfall(const WaterfallModel&, Item);
/// "4.938 s to 4.123 s: −0.815 s, most of it bubble": for assistive tools.
std::string waterfall_words(const WaterfallModel&);

/// Several side by side as one picture.
Drawing waterfall_picture(const std::vector<WaterfallModel>&, Size);
Size waterfall_size(const std::vector<WaterfallModel>&);

/// Causes by model, then in its order.
DataTable waterfall_table(const std::vector<WaterfallModel>&);

}  // namespace trainyard
