#include "app/desktop/analyse/communication_page.h"

#include <QHBoxLayout>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/analyse_scene.h"
#include "visualizers/view_data.h"

namespace trainyard {

// Counting every pair takes longer than drawing them: the grid is kept until what it counts
// changes.
class CommunicationPage::MapScene : public Scene {
 public:
  explicit MapScene(CommunicationPage& page) : page_(page) {}

  Drawing draw(Size size, double scale) override {
    last_ = Drawing(size);
    const ViewData* data = page_.session_.data();
    if (data == nullptr) return last_;
    const Rect area{0, 0, size.width, size.height};
    const CommunicationState state = page_.state_at(scale);
    const std::size_t most = communication_layout(area, state).most_cells;
    if (of_ != data->experiment || most != most_ || grid_.quantity != state.quantity) {
      grid_ = grid_of(data->communication(), area, state);
      of_ = data->experiment;
      most_ = most;
    }
    draw_communication(last_, area, data->communication(), grid_, state);
    return last_;
  }

  // A cell chooses its sender's pipeline rank in the other views too.
  bool input(const InputFrame& frame) override {
    const ViewData* data = page_.session_.data();
    if (!frame.pressed[0] || data == nullptr) return false;
    page_.state_.selected = hit(last_, frame.at);
    const Item item = page_.state_.selected;
    if (item.kind == ItemKind::Cell && item.tag < grid_.cell.size())
      page_.session_.select(
          {ItemKind::Lane, rank_of(data->communication(), grid_.cell[item.tag].from).value});
    return true;
  }

  QString tooltip(Point p) override {
    const ViewData* data = page_.session_.data();
    if (data == nullptr || of_ != data->experiment) return {};
    const Hover hover = describe_communication(data->communication(), grid_, hit(last_, p));
    return hover.title.empty() ? QString() : tip_html(hover);
  }

  QString description() const override {
    const ViewData* data = page_.session_.data();
    if (data == nullptr) return "Communication. Nothing has been simulated yet.";
    QString text = "Device to device map of communication.";
    if (of_ == data->experiment)
      text += " " + QString::fromStdString(communication_words(data->communication(), grid_)) + ".";
    return text;
  }

 private:
  CommunicationPage& page_;
  Drawing last_{Size{}};
  TrafficGrid grid_;
  ExperimentPtr of_;
  std::size_t most_ = 0;
};

CommunicationPage::CommunicationPage(Session& session, QWidget* parent)
    : ViewPage(session, "communication", parent) {
  auto* bar = new Header("Each device to each");
  auto* quantity = new Segment("Quantity", {"Bytes", "Messages", "Time", "Bandwidth"});
  auto* scale = new Segment("Scale", {"Log", "Linear"});
  auto* cell = new Segment("Cells of several pairs", {"Sum", "Largest"});
  quantity->set_current(0);
  scale->set_current(0);
  cell->set_current(0);
  for (QWidget* each : {quantity, scale, cell}) bar->row()->addWidget(each);
  lay_out(bar, "Communication map", std::make_unique<MapScene>(*this));
  connect(quantity, &Segment::chosen, this, [this](int i) {
    state_.quantity = static_cast<TrafficQuantity>(i);
    refresh();
  });
  connect(scale, &Segment::chosen, this, [this](int i) {
    state_.logarithmic = i == 0;
    refresh();
  });
  connect(cell, &Segment::chosen, this, [this](int i) {
    state_.most = i == 1;
    refresh();
  });
}

CommunicationState CommunicationPage::state_at(double scale) const {
  CommunicationState state = state_;
  state.scale = scale;
  if (const Item item = session_.state().selected;
      item.kind == ItemKind::Lane || item.kind == ItemKind::Span)
    state.rank = DeviceId{static_cast<std::uint32_t>(session_.selected_rank())};
  return state;
}

Drawing CommunicationPage::draw(Size size, double scale) const {
  Drawing drawing(size);
  const Rect area{0, 0, size.width, size.height};
  const CommunicationState state = state_at(scale);
  const CommunicationModel& model = session_.data()->communication();
  draw_communication(drawing, area, model, grid_of(model, area, state), state);
  return drawing;
}

std::optional<DataTable> CommunicationPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return communication_table(session_.data()->communication());
}

void CommunicationPage::choose(Item item) {
  state_.selected = item;
  refresh();
}

}  // namespace trainyard
