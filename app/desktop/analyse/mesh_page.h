// The Mesh tab: which rank sits on which device, coloured by one kind of parallelism.
#pragma once

#include <array>

#include "app/desktop/analyse/view_page.h"
#include "visualizers/mesh/mesh_view.h"

namespace trainyard {

class Segment;

class MeshPage : public ViewPage {
  Q_OBJECT

 public:
  explicit MeshPage(Session&, QWidget* parent = nullptr);
  std::optional<DataTable> table() const override;
  void choose(Item) override;

 protected:
  Drawing draw(Size, double scale) const override;

 private:
  class NodesScene;
  MeshState state() const;
  std::optional<std::size_t> colour_;  // nothing: the model's own
  std::optional<std::int64_t> pointed_;
};

}  // namespace trainyard
