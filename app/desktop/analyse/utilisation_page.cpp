#include "app/desktop/analyse/utilisation_page.h"
#include "app/desktop/controls/canvas_widget.h"

#include <algorithm>
#include <cmath>

#include "app/desktop/scene/analyse_scene.h"
#include "visualizers/view_data.h"

namespace trainyard {
class UtilisationPage::BusyScene : public Scene {
 public:
  explicit BusyScene(UtilisationPage& page) : page_(page) {}

  Drawing draw(Size size, double scale) override {
    last_ = Drawing(size);
    if (page_.session_.data() != nullptr) last_ = page_.draw(size, scale);
    return last_;
  }

  // The part of the run, the cursor and the selection are those of the timeline.
  bool input(const InputFrame& frame) override {
    Session& session = page_.session_;
    if (session.data() == nullptr) return false;
    const Viewport v = viewport();
    for (const int key : frame.keys) take(key, v);
    if (frame.wheel_y != 0 && (frame.modifiers & kControl))
      show(zoom(v, std::pow(kZoomStep, double{frame.wheel_y}), frame.at.x, limits()));
    else if (frame.wheel_y != 0 && (frame.modifiers & kShift))
      show(pan(v, 40.0 * double{frame.wheel_y}, limits()));
    else if (frame.wheel_y != 0)
      session.scroll_to(std::clamp(session.state().scroll - 60 * frame.wheel_y, 0.f, hidden()));
    if (frame.pressed[0])
      if (const Item item = hit(last_, frame.at); item.kind == ItemKind::Lane) session.select(item);
    const bool over = frame.inside && frame.at.x >= v.plot.x && frame.at.x < v.plot.right();
    session.set_cursor(over ? std::optional<Instant>(time_at(v, frame.at.x)) : std::nullopt);
    return true;
  }

  QString tooltip(Point p) override {
    const ViewData* data = page_.session_.data();
    if (data == nullptr) return {};
    const Hover hover = describe_utilisation(data->timeline(), data->utilisation(), area(),
                                             page_.session_.state(), hit(last_, p), p);
    return hover.title.empty() ? QString() : tip_html(hover);
  }

  QString description() const override {
    if (page_.session_.data() == nullptr) return "Utilisation. Nothing has been simulated yet.";
    const Result& result = page_.session_.experiment()->result;
    return QString(
               "Share of time that each pipeline rank computes. Bubble %1 percent, model FLOPs "
               "%2 percent of the dense peak.")
        .arg(100 * result.bubble_fraction, 0, 'f', 1)
        .arg(100 * result.mfu, 0, 'f', 1);
  }

 private:
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  Viewport viewport() const {
    return utilisation_layout(page_.session_.data()->timeline(), area(), page_.session_.state())
        .shown;
  }
  TimeLimits limits() const { return {.first = Instant{}, .last = page_.session_.end()}; }
  float hidden() const {
    const TimelineModel& timeline = page_.session_.data()->timeline();
    const UtilisationLayout layout = utilisation_layout(timeline, area(), page_.session_.state());
    return std::max(0.f,
                    layout.pitch * static_cast<float>(timeline.ranks.size()) - layout.rows.height);
  }
  void show(const Viewport& v) { page_.session_.show(TimeRange{v.from, v.to}); }
  void take(int key, const Viewport& v) {
    const double middle = v.plot.x + v.plot.width / 2, page = v.plot.width / 8;
    if (key == Qt::Key_W || key == Qt::Key_Plus || key == Qt::Key_Equal)
      show(zoom(v, kZoomStep, middle, limits()));
    else if (key == Qt::Key_S || key == Qt::Key_Minus)
      show(zoom(v, 1 / kZoomStep, middle, limits()));
    else if (key == Qt::Key_A)
      show(pan(v, page, limits()));
    else if (key == Qt::Key_D)
      show(pan(v, -page, limits()));
    else if (key == Qt::Key_Home)
      page_.session_.show({});
  }

  UtilisationPage& page_;
  Drawing last_{Size{}};
};

UtilisationPage::UtilisationPage(Session& session, QWidget* parent)
    : ViewPage(session, "utilisation", parent) {
  lay_out(nullptr, "Utilisation", std::make_unique<BusyScene>(*this));
  for (const auto signal : {&Session::view_changed, &Session::range_changed})
    connect(&session_, signal, this, [this] { refresh(); });
}

Drawing UtilisationPage::draw(Size size, double scale) const {
  Drawing drawing(size);
  ViewState state = session_.state();
  state.scale = scale;
  draw_utilisation(drawing, {0, 0, size.width, size.height}, session_.data()->timeline(),
                   session_.data()->utilisation(), state);
  return drawing;
}

std::optional<DataTable> UtilisationPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return view_.table(*session_.data(), session_.state());
}

void UtilisationPage::choose(Item item) { session_.select(item); }

}  // namespace trainyard
