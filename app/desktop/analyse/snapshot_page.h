// A memory snapshot of PyTorch over the memory that the plan predicts: both
// waves on one axis, where they part, and the sentence that says why.
#pragma once

#include <memory>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/background.h"
#include "visualizers/snapshot/snapshot_view.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Session;

class SnapshotPage : public Page {
  Q_OBJECT

 public:
  explicit SnapshotPage(Session&, QWidget* parent = nullptr);
  /// Stops what is being read and reads this; held against the plan where one
  /// is simulated.
  void open(const QString& path);
  const SnapshotModel* model() const { return model_.get(); }
  const QString& error() const { return error_; }

  QList<CanvasWidget*> canvases() const override;
  bool settled() const override { return !background_.running(); }
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;

 private:
  struct Read {
    std::shared_ptr<const SnapshotModel> model;
    QString error;
  };
  void refresh();

  Session& session_;
  std::shared_ptr<const SnapshotModel> model_;
  QString path_, error_;
  bool first_ = false;  // the model is of the beginning of the file
  CanvasWidget* canvas_;
  QLabel* state_;
  QPushButton *open_, *again_, *cancel_;
  Background background_;  // ends first
};

}  // namespace trainyard
