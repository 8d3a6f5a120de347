// A plot that shows what was predicted against what was measured. Both axes are logarithmic and
// have the same range, so that points on the diagonal agree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// The px above and below the plot in which its labels are written.
inline constexpr float kAgreementTop = 22, kAgreementBottom = 36;

struct AgreementPlot {
  Rect rect;
  double low = 1e300, high = 0;  // high is below low until a value is taken in

  /// Widens the range so that it holds the value; values of 0 and less have no place.
  void take(double value);
  /// Leaves some room around the values that were taken in.
  void widen() { low /= 1.5, high *= 1.5; }
  bool empty() const { return high <= low; }

  float x(double value) const { return rect.x + rect.width * share(value); }
  float y(double value) const { return rect.bottom() - rect.height * share(value); }

 private:
  float share(double value) const;
};

/// A plot that has no range yet. It leaves a part of the area to its labels.
AgreementPlot agreement_plot_in(const Rect& area);
/// Draws lines at 1 to 9 times each power of ten of `unit`, with labels that `text` makes. The axes
/// are named by `predicted` above the plot and by "measured" below it.
void draw_agreement_axes(Drawing&, const AgreementPlot&, double unit,
                         const std::function<std::string(double)>& text,
                         const std::string& predicted);
/// Draws the diagonal, and a dashed line where predictions are off by each of the factors.
void draw_agreement_lines(Drawing&, const AgreementPlot&, const std::vector<double>& factors);

}  // namespace trainyard
