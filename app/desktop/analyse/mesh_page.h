// The Mesh tab: which rank sits on which device, coloured by one kind of parallelism.
#pragma once

#include "app/desktop/analyse/view_page.h"

namespace trainyard {

class MeshPage : public ViewPage {
  Q_OBJECT

 public:
  explicit MeshPage(Session&, QWidget* parent = nullptr);
};

}  // namespace trainyard
