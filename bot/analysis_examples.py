"""What questions look like that are answered by counting, and those that are looked up.

Both are compared with a question by meaning; a new way of asking is taught by a new line.
"""

from __future__ import annotations

from typing import Final

ANALYSIS: Final = (
    "How many orders did we get last month?",
    "What is the total revenue per customer?",
    "Average response time by team",
    "Which product sold the most in 2024?",
    "Show the top five customers by sales",
    "Count the open tickets for each priority",
    "What percentage of the invoices is unpaid?",
    "Compare this year's sales with last year's by month",
    "List all employees hired after 2020 with their salary",
    "What was the highest price we ever paid?",
    "先月の注文は何件ありましたか?",
    "顧客ごとの売上合計を教えて",
    "部署別の平均残業時間は?",
    "一番売れた商品はどれですか?",
    "売上の上位5社を表示して",
    "優先度ごとに未解決のチケットを数えて",
    "未払いの請求書の割合は何パーセント?",
    "月別の売上の推移を出して",
    "2020年以降に入社した社員の一覧",
    "在庫が10個より少ない商品はいくつある?",
)

SEARCH: Final = (
    "How do I submit travel expenses?",
    "Who is responsible for the website?",
    "What does the handbook say about working from home?",
    "What did we decide about the release date?",
    "Where do I find the template for invoices?",
    "Explain how the backup works",
    "When is the next team meeting?",
    "What is our policy on holidays?",
    "Why did we choose this supplier?",
    "What is the password rule for new accounts?",
    "出張の経費はどうやって精算しますか?",
    "ウェブサイトの担当者は誰ですか?",
    "在宅勤務について規程には何と書いてある?",
    "リリース日はどう決まった?",
    "請求書のひな形はどこにありますか?",
    "バックアップの仕組みを説明して",
    "次の会議はいつですか?",
    "休暇のルールを教えて",
    "なぜこの取引先を選んだの?",
    "新しいアカウントのパスワードの決まりは?",
)
