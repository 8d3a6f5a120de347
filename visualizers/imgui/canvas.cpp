#include "visualizers/imgui/canvas.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "visualizers/drawing/in_parallel.h"
#include "visualizers/imgui/font_atlas.h"
#include "visualizers/imgui/painter.h"

namespace trainyard {
namespace {

constexpr std::size_t kLeastWork = 4096, kMostParts = 8;  // marks and tiles a part; parts
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

// Where parts of about equal work begin and end: half-open ranges of marks, at most `most` of them.
std::vector<std::size_t> parts_of(const Drawing& drawing, std::size_t most) {
  const std::size_t work = drawing.marks.size() + drawing.tiles.size();
  const std::size_t parts = std::clamp<std::size_t>(work / kLeastWork, 1, most);
  std::vector<std::size_t> bounds = {0};
  std::size_t done = 0;
  for (std::size_t i = 0; i < drawing.marks.size(); ++i) {
    const Mark& mark = drawing.marks[i];
    done += 1 + (mark.kind == MarkKind::Strip ? mark.count : 0);
    if (done * parts >= work * bounds.size()) bounds.push_back(i + 1);
  }
  if (bounds.back() < drawing.marks.size() || bounds.size() == 1)
    bounds.push_back(drawing.marks.size());
  return bounds;
}

// As ImGui begins its own lists.
void begin(ImDrawList& list, const ImGuiIO& io) {
  list._ResetForNewFrame();
  list.PushTextureID(io.Fonts->TexID);
  list.PushClipRect({0, 0}, io.DisplaySize);
}

}  // namespace

struct Canvas::State {
  explicit State(FontFiles files) : fonts(std::move(files)) {}

  FontAtlas fonts;
  ImGuiContext* context = nullptr;
  std::unique_ptr<Renderer> renderer;
  bool fonts_changed = true;
  // What was built last: the lists of its parts, in the order in which they are painted.
  std::vector<std::unique_ptr<ImDrawList>> lists;
  std::vector<ImDrawList*> painted;
  ImDrawData data;
  Image image;
};

// What the renderers read of the first lists.
ImDrawData& Canvas::gather(State& state, std::size_t parts) {
  state.data = *ImGui::GetDrawData();
  state.data.TotalIdxCount = state.data.TotalVtxCount = 0;
  state.painted.clear();
  for (std::size_t i = 0; i < parts; ++i) {
    ImDrawList& list = *state.lists[i];
    state.painted.push_back(&list);
    state.data.TotalIdxCount += list.IdxBuffer.Size;
    state.data.TotalVtxCount += list.VtxBuffer.Size;
  }
  state.data.CmdLists = state.painted.data();
  state.data.CmdListsCount = static_cast<int>(parts);
  return state.data;
}

Canvas::Canvas(std::unique_ptr<Renderer> renderer, FontFiles files)
    : state_(new State(std::move(files))) {
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
  const std::vector<std::size_t> bounds = parts_of(drawing, kMostParts);
  const std::size_t parts = bounds.size() - 1;
  while (state_->lists.size() < parts)
    state_->lists.push_back(std::make_unique<ImDrawList>(ImGui::GetDrawListSharedData()));
  const auto paint_part = [&](std::size_t part) {
    ImDrawList& list = *state_->lists[part];
    begin(list, io);
    paint_marks(drawing, bounds[part], bounds[part + 1], scale, theme, state_->fonts, list);
    list._PopUnusedDrawCmd();
  };
  {
    const CurrentContext none(nullptr);  // ImGui counts allocations in it, for one thread
    in_parallel(parts, paint_part);
  }
  ImGui::Render();
  return gather(*state_, parts);
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
