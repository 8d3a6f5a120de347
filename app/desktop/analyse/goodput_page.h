// The Goodput tab: what failures and checkpoints leave of the training, with the knobs of recovery
// at the left. The picture follows every key.
#pragma once

#include <map>
#include <string>

#include "app/desktop/analyse/view_page.h"
#include "visualizers/reliability/goodput_view.h"

class QVBoxLayout;

namespace trainyard {

class CheckedField;
class Field;

/// The question that the fields ask. Its version grows with every change.
struct GoodputState {
  GoodputQuestion question;
  int version = 0;
  Item selected;
};

class GoodputScene;

class GoodputPage : public ViewPage {
  Q_OBJECT

 public:
  explicit GoodputPage(Session&, QWidget* parent = nullptr);
  const GoodputState& state() const { return state_; }
  /// Empty without a plan.
  const AskedGoodput* asked() const;

 private:
  void add_fields(QVBoxLayout*);
  void take();

  GoodputState state_;
  GoodputScene* goodput_ = nullptr;  // owned by the canvas
  Field *record_ = nullptr, *recovery_ = nullptr;
  std::map<std::string, CheckedField*> fields_;  // by the name that errors have as place
};

}  // namespace trainyard
