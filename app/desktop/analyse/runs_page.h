// The list of past runs: search, tags and notes, and the chosen run over its
// prediction.
#pragma once

#include <QPointer>

#include <optional>

#include "app/desktop/controls/page.h"
#include "app/desktop/controls/run_list.h"
#include "app/desktop/session/background.h"
#include "visualizers/run/run_view.h"

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QTreeWidget;

namespace trainyard {

class RunsPage : public Page {
  Q_OBJECT

 public:
  /// The list must outlive it.
  explicit RunsPage(RunList&, QWidget* parent = nullptr);

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !work_.running(); }
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;

  /// The number of the chosen run.
  std::optional<std::int64_t> chosen() const { return chosen_; }
  void choose(std::int64_t id);
  void search(const QString& words);
  const RunModel& model() const { return model_; }
  /// Keeps what was typed into note and tags.
  void commit();

 Q_SIGNALS:
  /// The run beside the open plan.
  void compare(qint64 id);

 protected:
  void showEvent(QShowEvent*) override;
  bool eventFilter(QObject*, QEvent*) override;

 private:
  struct Answer;
  QWidget* make_list();
  QWidget* make_card();
  void refresh_list();
  /// anew: also what is being typed.
  void refresh_card(bool anew);
  void remove();
  RunEntry* entry();  // the chosen one; null where it is not listed

  RunList& runs_;
  RunModel model_;
  std::vector<RunEntry> entries_;
  std::optional<std::int64_t> chosen_;
  QLineEdit *search_ = nullptr, *tags_ = nullptr;
  QLabel *found_ = nullptr, *title_ = nullptr, *figures_ = nullptr, *wrong_ = nullptr;
  QTreeWidget* table_ = nullptr;
  QPlainTextEdit* note_ = nullptr;
  QPushButton *compare_ = nullptr, *remove_ = nullptr;
  CanvasWidget* canvas_ = nullptr;
  QPointer<RunList> alive_;  // null once the list is gone
  Background work_{this};    // last: it uses all of the above
};

}  // namespace trainyard
