#include "visualizers/imgui/canvas.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "visualizers/imgui/font_atlas.h"
#include "visualizers/imgui/painter.h"

namespace trainyard {
namespace {

constexpr double kLargestScale = 16;
constexpr float kLongestSide = 16384;  // device px; Vulkan promises no more

// The context that was current comes back at the end: canvases do not disturb each other.
class CurrentContext {
 public:
  explicit CurrentContext(ImGuiContext* context) : before_(ImGui::GetCurrentContext()) {
    ImGui::SetCurrentContext(context);
  }
  ~CurrentContext() { ImGui::SetCurrentContext(before_); }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  ImGuiContext* before_;
};

float device_length(float logical, double scale) {
  const double length = std::ceil(double{logical} * scale - 1e-3);
  return std::isfinite(length) ? static_cast<float>(std::clamp(length, 0.0, double{kLongestSide}))
                               : 0;
}

}  // namespace

struct Canvas::State {
  FontAtlas fonts;
  ImGuiContext* context = nullptr;
  std::unique_ptr<Renderer> renderer;
  bool fonts_changed = true;
  Image image;
};

Canvas::Canvas(std::unique_ptr<Renderer> renderer, FontFiles files)
    : state_(new State{FontAtlas(std::move(files)), {}, {}, true, {}}) {
  state_->renderer = std::move(renderer);
  ImGuiContext* before = ImGui::GetCurrentContext();
  state_->context = ImGui::CreateContext(&state_->fonts.atlas());
  ImGui::SetCurrentContext(state_->context);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // more than 65 536 vertices in a list
  ImGui::GetStyle().AntiAliasedLinesUseTex = false;  // there are no baked lines in our texture
  ImGui::SetCurrentContext(before);
}

Canvas::~Canvas() {
  const CurrentContext current(state_->context);
  state_->renderer.reset();
  ImGui::DestroyContext(state_->context);
}

std::string_view Canvas::renderer() const { return state_->renderer->name(); }
const std::string& Canvas::why() const { return state_->renderer->why(); }

void Canvas::use(std::unique_ptr<Renderer> renderer) {
  const CurrentContext current(state_->context);
  state_->renderer = std::move(renderer);
  state_->fonts_changed = true;
}

ImDrawData& Canvas::build(const Drawing& drawing, double scale, Theme theme) {
  const CurrentContext current(state_->context);
  scale = std::isfinite(scale) ? std::clamp(scale, 0.05, kLargestScale) : 1;
  state_->fonts_changed |= state_->fonts.prepare(drawing, scale);
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {device_length(drawing.size.width, scale),
                    device_length(drawing.size.height, scale)};
  io.DisplayFramebufferScale = {1, 1};  // the draw lists are in device pixels already
  io.DeltaTime = 1 / 60.f;              // nothing here moves by itself
  ImGui::NewFrame();
  paint_marks(drawing, scale, theme, state_->fonts, *ImGui::GetBackgroundDrawList());
  ImGui::Render();
  return *ImGui::GetDrawData();
}

const Image& Canvas::paint(const Drawing& drawing, double scale, Theme theme) {
  ImDrawData& data = build(drawing, scale, theme);
  const CurrentContext current(state_->context);
  const auto render = [&] {
    if (state_->fonts_changed) state_->renderer->use_fonts(state_->fonts.atlas());
    state_->fonts_changed = false;
    state_->renderer->render(data, colour(drawing.background, theme), state_->image);
  };
  try {
    render();
  } catch (const RendererFailure& failure) {
    state_->renderer = software_renderer(std::string("software: ") + failure.what());
    state_->fonts_changed = true;
    render();
  }
  return state_->image;
}

}  // namespace trainyard
