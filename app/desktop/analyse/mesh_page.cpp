#include "app/desktop/analyse/mesh_page.h"

#include <QHBoxLayout>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/analyse_scene.h"
#include "visualizers/view_data.h"

namespace trainyard {

class MeshPage::NodesScene : public Scene {
 public:
  explicit NodesScene(MeshPage& page) : page_(page) {}

  Drawing draw(Size size, double scale) override {
    last_ = Drawing(size);
    if (page_.session_.data() != nullptr) last_ = page_.draw(size, scale);
    return last_;
  }

  // The group of the device under the pointer is marked; a click chooses its pipeline rank.
  bool input(const InputFrame& frame) override {
    if (page_.session_.data() == nullptr) return false;
    const Item item = frame.inside ? hit(last_, frame.at) : Item{};
    std::optional<std::int64_t> now;
    if (item.kind == ItemKind::Cell) now = static_cast<std::int64_t>(item.tag);
    if (frame.pressed[0] && now) {
      const MeshPlace place = mesh_place(page_.session_.data()->mesh(), *now);
      page_.session_.select({ItemKind::Lane, static_cast<std::uint64_t>(place[4])});
    }
    if (now == page_.pointed_) return false;
    page_.pointed_ = now;
    return true;
  }

  QString tooltip(Point p) override {
    if (page_.session_.data() == nullptr) return {};
    const Hover hover = describe_mesh(page_.session_.data()->mesh(), hit(last_, p));
    return hover.title.empty() ? QString() : tip_html(hover);
  }

  QString description() const override {
    if (page_.session_.data() == nullptr) return "Mesh. Nothing has been simulated yet.";
    QString text = "Which rank sits on which device.";
    for (const MeshGroup& group : page_.session_.data()->mesh().groups)
      text += " " + QString::fromStdString(group_words(group)) + ".";
    return text;
  }

 private:
  MeshPage& page_;
  Drawing last_{Size{}};
};

MeshPage::MeshPage(Session& session, QWidget* parent) : ViewPage(session, "mesh", parent) {
  auto* bar = new Header("Ranks on devices");
  bar->row()->addWidget(make_label("coloured by", 11, QFont::Normal, "third"));
  auto* colour = new Segment("Coloured by", {"TP", "CP", "EP", "DP", "PP"});
  colour->set_current(4);
  bar->row()->addWidget(colour);
  lay_out(bar, "Mesh", std::make_unique<NodesScene>(*this));
  connect(colour, &Segment::chosen, this, [this](int i) {
    colour_ = static_cast<std::size_t>(i);
    refresh();
  });
  connect(&session_, &Session::experiment_changed, this, [this, colour] {
    if (session_.data() != nullptr) colour->set_current(static_cast<int>(state().colour));
  });
}

MeshState MeshPage::state() const {
  MeshState state = mesh_state(session_.data()->mesh());
  if (colour_) state.colour = *colour_;
  state.pointed = pointed_;
  return state;
}

Drawing MeshPage::draw(Size size, double) const {
  Drawing drawing(size);
  draw_mesh(drawing, {0, 0, size.width, size.height}, session_.data()->mesh(), state());
  return drawing;
}

std::optional<DataTable> MeshPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return mesh_table(session_.data()->mesh());
}

void MeshPage::choose(Item item) {
  pointed_ = static_cast<std::int64_t>(item.tag);
  refresh();
}

}  // namespace trainyard
