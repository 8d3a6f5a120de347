// The Communication tab: who sends how much to whom, by bytes, messages, time or bandwidth.
#pragma once

#include "app/desktop/analyse/view_page.h"
#include "visualizers/communication/communication_view.h"

namespace trainyard {

class CommunicationPage : public ViewPage {
  Q_OBJECT

 public:
  explicit CommunicationPage(Session&, QWidget* parent = nullptr);
  const CommunicationState& state() const { return state_; }

 private:
  CommunicationState state_;
};

}  // namespace trainyard
