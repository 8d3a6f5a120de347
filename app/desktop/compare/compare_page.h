// A ComparePage is the first tab of the Compare perspective and compares any two results. A result
// is a plan of the project, the plan chosen from a search, a published row or a recorded run.
#pragma once

#include <QPointer>
#include <QTimer>

#include <functional>
#include <optional>

#include "app/desktop/controls/page.h"
#include "app/desktop/controls/run_list.h"
#include "app/desktop/scene/compare_scenes.h"
#include "app/desktop/session/background.h"
#include "app/desktop/session/document.h"

class QCheckBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace trainyard {

class CompareChoices;
class ElidedLabel;
class Segment;

class ComparePage : public Page {
  Q_OBJECT

 public:
  /// found: returns the scenario of the plan chosen from a search, if there is one. All arguments
  /// must outlive the page.
  ComparePage(Document&, RunList&, std::function<std::optional<Scenario>()> found,
              QWidget* parent = nullptr);

  QList<CanvasWidget*> canvases() const override;
  bool settled() const override { return !work_.running(); }
  bool own_verdict() const override { return true; }
  QWidget* tools() override;
  std::optional<Drawing> picture() const override;
  /// The causes shown, as rows.
  std::optional<DataTable> table() const override;

  /// The words of the two results, as notes and tests use them: "plan:A", "found", "published:ID",
  /// "run:7", "runs:tag:repeat-7".
  QString a() const;
  QString b() const;
  /// Compares two results; words that are not among the choices yet are added.
  void compare(const QString& a, const QString& b);
  const CompareLook& look() const { return look_; }

  void swap();
  void set_linked(bool);
  void set_deltas_only(bool);
  /// Moves both timelines to where the cause is most visible; cause: an index into those shown.
  void jump(int cause);
  /// Makes the compared plan B the open one; does nothing if B is not a plan of the project.
  void adopt();
  /// Exports by the file's extension: .png, .svg, .csv, .html, or of recorded runs .json, a
  /// benchmark report. Throws Error{Io}, or Error{InvalidInput} for another extension and for a
  /// report of something else.
  void export_to(const QString& path);
  void export_dialog();
  void commit_note();

 Q_SIGNALS:
  void toggled();  // the switch "linked" or "deltas only" has changed

 protected:
  void showEvent(QShowEvent*) override;
  bool eventFilter(QObject*, QEvent*) override;

 private:
  struct Answer;
  QWidget* make_head();
  QWidget* make_right();
  void start();
  std::function<ComparedResult(std::stop_token)> opener(const QString& word) const;
  QString fingerprint(const QString& word) const;
  void show_answer(const Answer&);
  void refresh();
  void show_note();
  QString words_of_nothing() const;
  std::string report() const;

  Document& document_;
  RunList& runs_;
  std::function<std::optional<Scenario>()> found_;
  CompareLook look_;
  QString asked_;  // fingerprint of the current comparison
  CompareChoices* choices_;
  ElidedLabel* head_ = nullptr;
  QLabel* chip_ = nullptr;
  QCheckBox *linked_ = nullptr, *deltas_ = nullptr;
  QPushButton *swap_ = nullptr, *export_ = nullptr, *adopt_ = nullptr;
  Segment* kind_ = nullptr;
  QLabel* why_ = nullptr;
  QPlainTextEdit* note_ = nullptr;
  CanvasWidget *cards_ = nullptr, *judged_ = nullptr, *timelines_ = nullptr, *causes_ = nullptr,
               *ranks_ = nullptr;
  QTimer note_pause_;
  QPointer<Document> alive_;  // null once the document is destroyed
  Background work_{this};     // last, because it uses all members above
};

}  // namespace trainyard
