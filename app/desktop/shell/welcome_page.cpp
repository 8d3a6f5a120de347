#include "app/desktop/shell/welcome_page.h"

#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/session/document.h"

namespace trainyard {
namespace {

constexpr const char* kSign = "sign";

// A button with a title, a line under it and a sign, which refresh_icons() draws.
QPushButton* tile(const QString& title, const QString& story, const char* sign) {
  auto* button = new QPushButton;
  button->setProperty("kind", "tile");
  button->setProperty(kSign, sign);
  button->setAccessibleName(title);
  button->setAccessibleDescription(story);
  auto* row = new QHBoxLayout(button);
  row->setContentsMargins(16, 0, 16, 0);
  row->setSpacing(14);
  auto* picture = new QLabel;
  picture->setObjectName(kSign);
  auto* words = new QVBoxLayout;
  words->setSpacing(1);
  words->addStretch(1);
  words->addWidget(make_label(title, 13, QFont::DemiBold));
  words->addWidget(make_label(story, 12, QFont::Normal, "second"));
  words->addStretch(1);
  row->addWidget(picture);
  row->addLayout(words, 1);
  for (QLabel* part : button->findChildren<QLabel*>())
    part->setAttribute(Qt::WA_TransparentForMouseEvents);
  return button;
}

}  // namespace

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent) {
  setObjectName("canvas");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName("Start");
  auto* outer = new QVBoxLayout(this);
  auto* centre = new QWidget;
  centre->setFixedWidth(560);
  auto* column = new QVBoxLayout(centre);
  column->setSpacing(12);
  column->addWidget(make_label("Plan a training run before you pay for it", 20, QFont::DemiBold));
  auto* story = make_label(
      "Drop a model's config.json here, or a project, cluster or plan file. "
      "The timeline, the memory waves and the verdict appear here.",
      13, QFont::Normal, "second");
  story->setWordWrap(true);
  column->addWidget(story);
  column->addSpacing(8);
  const auto add = [&](const char* title, const char* words, const char* sign, auto run) {
    QPushButton* button = tile(title, words, sign);
    column->addWidget(button);
    connect(button, &QPushButton::clicked, this, run);
  };
  add("Open a config", "A Hugging Face config.json, a project, a cluster or a plan", "file",
      [this] { Q_EMIT open(); });
  add("Choose a model", "A published model by its name, or a new one to build", "model",
      [this] { Q_EMIT choose_model(); });
  add("Open the example", "Llama 3 70B on 64 H100: pipeline, tensor and data parallel", "cluster",
      [this] { Q_EMIT example("llama-3-70b", "h100-sxm:64"); });
  add("Open a published result", "Published measurements next to our prediction", "plan",
      [this] { Q_EMIT published(); });
  add("Start a lesson", "Ten interactive lessons", "info", [this] { Q_EMIT lesson(); });
  column->addSpacing(8);
  column->addWidget(make_label("Recent", 12, QFont::DemiBold));
  recent_ = new QVBoxLayout;
  recent_->setSpacing(2);
  column->addLayout(recent_);
  outer->addStretch(2);
  outer->addWidget(centre, 0, Qt::AlignHCenter);
  outer->addStretch(3);
  refresh();
  refresh_icons();
}

// Draws the signs in the colours of the theme.
void WelcomePage::refresh_icons() {
  const QColor colour = qcolor(Ink::Accent, current_theme());
  for (QPushButton* button : findChildren<QPushButton*>())
    if (auto* picture = button->findChild<QLabel*>(kSign))
      picture->setPixmap(icon(button->property(kSign).toString(), colour).pixmap(24, 24));
}

void WelcomePage::changeEvent(QEvent* event) {
  if (event->type() == QEvent::StyleChange) refresh_icons();
  QWidget::changeEvent(event);
}

void WelcomePage::refresh() {
  while (QLayoutItem* item = recent_->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();  // deleted later, so it must not be drawn over new widgets
      item->widget()->deleteLater();
    }
    delete item;
  }
  const QStringList files = recent_files();
  if (files.isEmpty()) recent_->addWidget(make_label("Nothing yet.", 12, QFont::Normal, "third"));
  for (const QString& path : files.mid(0, 5)) {
    auto* button =
        new QPushButton(QFileInfo(path).fileName() + "   " + QFileInfo(path).absolutePath());
    button->setProperty("kind", "step");
    button->setAccessibleName("Open " + path);
    connect(button, &QPushButton::clicked, this, [this, path] { Q_EMIT open_file(path); });
    recent_->addWidget(button);
  }
}

}  // namespace trainyard
