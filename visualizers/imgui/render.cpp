#include "visualizers/imgui/render.h"

#include "core/base/error.h"
#include "visualizers/imgui/canvas.h"

namespace trainyard {

Image render(const Drawing& drawing, double scale, Theme theme, const FontFiles& fonts) {
  if (!(scale > 0 && scale <= 16))
    throw Error(Error::Kind::InvalidInput, "the scale of a picture must be above 0 and at most 16");
  Canvas canvas(software_renderer(), fonts);
  return canvas.paint(drawing, scale, theme);
}

}  // namespace trainyard
