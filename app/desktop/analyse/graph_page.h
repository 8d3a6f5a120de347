// The Graph tab: the model's layers with their stages, and the ops of those that are opened.
#pragma once

#include "app/desktop/analyse/view_page.h"

namespace trainyard {

class GraphPage : public ViewPage {
  Q_OBJECT

 public:
  explicit GraphPage(Session&, QWidget* parent = nullptr);
};

}  // namespace trainyard
