#include "app/desktop/analyse/mesh_page.h"

#include <QHBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/mesh/mesh_view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

class MeshScene : public ViewScene {
 public:
  explicit MeshScene(Session& session) : ViewScene(session, "mesh") {}

  void colour_by(std::size_t kind) { colour_ = kind; }
  std::size_t colour() const { return mesh_state_now().colour; }
  void select(Item item) override { pointed_ = static_cast<std::int64_t>(item.tag); }

 protected:
  Drawing paint(Size size, double) const override {
    Drawing drawing(size);
    draw_mesh(drawing, whole(size), data().get<MeshModel>(), mesh_state_now());
    return drawing;
  }

  // The groups of the device under the pointer are marked; a click chooses its pipeline rank.
  bool take(const InputFrame& frame) override {
    const Item item = frame.inside ? hit(last_, frame.at) : Item{};
    std::optional<std::int64_t> now;
    if (item.kind == ItemKind::Cell) now = static_cast<std::int64_t>(item.tag);
    if (frame.pressed[0] && now) {
      const MeshPlace place = mesh_place(data().get<MeshModel>(), *now);
      session_.select({ItemKind::Lane, static_cast<std::uint64_t>(place[4])});
    }
    if (now == pointed_) return false;
    pointed_ = now;
    return true;
  }

  QString words() const override {
    QString text = "Which rank sits on which device.";
    for (const MeshGroup& group : data().get<MeshModel>().groups)
      text += " " + q(group_words(group)) + ".";
    return text;
  }

 private:
  MeshState mesh_state_now() const {
    MeshState state = mesh_state(data().get<MeshModel>());
    if (colour_) state.colour = *colour_;
    state.pointed = pointed_;
    return state;
  }

  std::optional<std::size_t> colour_;  // nothing: the one that suits the mesh
  std::optional<std::int64_t> pointed_;
};

}  // namespace

MeshPage::MeshPage(Session& session, QWidget* parent) : ViewPage(session, parent) {
  auto* bar = new Header("Ranks on devices");
  bar->row()->addWidget(make_label("coloured by", 11, QFont::Normal, "third"));
  auto* colour = new Segment("Coloured by", {"TP", "CP", "EP", "DP", "PP"});
  colour->set_current(4);
  bar->row()->addWidget(colour);
  auto made = std::make_unique<MeshScene>(session);
  MeshScene* scene = made.get();
  set_scene_under(bar, "Mesh", std::move(made));
  connect(colour, &Segment::chosen, this, [this, scene](int i) {
    scene->colour_by(static_cast<std::size_t>(i));
    refresh();
  });
  connect(&session_, &Session::experiment_changed, this, [this, scene, colour] {
    if (session_.data() != nullptr) colour->set_current(static_cast<int>(scene->colour()));
  });
}

}  // namespace trainyard
