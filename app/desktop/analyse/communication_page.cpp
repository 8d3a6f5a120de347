#include "app/desktop/analyse/communication_page.h"

#include <QHBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

class CommunicationScene : public ViewScene {
 public:
  /// The state is the page's, which outlives the scene.
  CommunicationScene(Session& session, CommunicationState& state)
      : ViewScene(session, "communication"), state_(state) {}

  void select(Item item) override { state_.selected = item; }

 protected:
  Drawing paint(Size size, double scale) const override {
    Drawing drawing(size);
    const CommunicationState state = state_at(scale);
    draw_communication(drawing, whole(size), data().get<CommunicationModel>(), grid(size, state),
                       state);
    return drawing;
  }

  // A cell chooses its sender's pipeline rank in the other views too.
  bool take(const InputFrame& frame) override {
    if (!frame.pressed[0]) return false;
    const Item item = state_.selected = hit(last_, frame.at);
    const TrafficGrid& map = grid(last_.size, state_at(scale_));
    if (item.kind == ItemKind::Cell && item.tag < map.cell.size())
      session_.select({ItemKind::Lane,
                       rank_of(data().get<CommunicationModel>(), map.cell[item.tag].from).value});
    return true;
  }

  Hover describe(Point p) const override {
    return describe_communication(data().get<CommunicationModel>(),
                                  grid(last_.size, state_at(scale_)), hit(last_, p));
  }

  QString words() const override {
    return "Device to device map of communication. " +
           q(communication_words(data().get<CommunicationModel>(),
                                 grid(last_.size, state_at(scale_)))) +
           ".";
  }

 private:
  CommunicationState state_at(double scale) const {
    CommunicationState state = state_;
    state.scale = scale;
    if (const Item item = session_.state().selected;
        item.kind == ItemKind::Lane || item.kind == ItemKind::Span)
      state.rank = DeviceId{static_cast<std::uint32_t>(session_.selected_rank())};
    return state;
  }

  // Counting every pair takes longer than drawing them: the grid is kept until what it counts
  // changes.
  const TrafficGrid& grid(Size size, const CommunicationState& state) const {
    const std::size_t most = communication_layout(whole(size), state).most_cells;
    if (of_ != data().experiment || most != most_ || grid_.quantity != state.quantity) {
      grid_ = grid_of(data().get<CommunicationModel>(), whole(size), state);
      of_ = data().experiment;
      most_ = most;
    }
    return grid_;
  }

  CommunicationState& state_;
  mutable TrafficGrid grid_;
  mutable ExperimentPtr of_;
  mutable std::size_t most_ = 0;
};

}  // namespace

CommunicationPage::CommunicationPage(Session& session, QWidget* parent)
    : ViewPage(session, parent) {
  auto* bar = new Header("Each device to each");
  auto* quantity = new Segment("Quantity", {"Bytes", "Messages", "Time", "Bandwidth"});
  auto* scale = new Segment("Scale", {"Log", "Linear"});
  auto* cell = new Segment("Cells of several pairs", {"Sum", "Largest"});
  quantity->set_current(0);
  scale->set_current(0);
  cell->set_current(0);
  for (QWidget* each : {quantity, scale, cell}) bar->row()->addWidget(each);
  set_scene_under(bar, "Communication map", std::make_unique<CommunicationScene>(session, state_));
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

}  // namespace trainyard
