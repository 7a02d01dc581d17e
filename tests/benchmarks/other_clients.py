"""Do clients of other languages, and `llm`, speak to `nmt serve`?

    python tests/benchmarks/other_clients.py TRANSLATION_MODEL CHAT_MODEL

Needs npm and its registry, and `pip install llm`. Prints what each client got; exits with 1 when
one could not speak. The clients for Python are in the default tests (tests/cli/test_serve.py).
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

LIBRETRANSLATE = """
const { translate } = require("libretranslate");
const [url, source, target] = process.argv.slice(2);
translate({ query: "a dog", source, target, apiurl: url, apiKey: "key" }).then((text) => {
  if (!text) throw new Error("nothing came");
  console.log(text);
});
"""
OPENAI = """
const { OpenAI } = require("openai");
const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "key" });
(async () => {
  const ask = { model: process.argv[3], messages: [{ role: "user", content: "hello" }], seed: 1 };
  const whole = await client.chat.completions.create({ ...ask, n: 2 });
  const stream = await client.chat.completions.create({ ...ask, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
  if (text !== whole.choices[0].message.content) throw new Error("the stream differs");
  const problem = await client.chat.completions.create({ ...ask, temperature: 9 }).catch((e) => e);
  if (problem.status !== 400 || problem.param !== "temperature") throw problem;
  console.log(text);
})();
"""


def main() -> None:
    """Start a server, then each client."""
    translation, chat = sys.argv[1:]
    command = [sys.executable, "-m", "nmt_cli", "serve", "--port", "0", "-q"]
    command += ["-m", translation, "-m", chat]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            url = next(line.split()[2] for line in server.stderr if line.startswith("serving on"))
            with tempfile.TemporaryDirectory() as folder:
                sys.exit(_speak(url, Path(folder)))
        finally:
            server.terminate()


def _speak(url: str, folder: Path) -> int:
    source, target = (row["code"] for row in httpx.get(f"{url}/languages").json()[:2])
    model = httpx.get(f"{url}/v1/models").json()["data"][0]["id"]
    (folder / "package.json").write_text(json.dumps({"private": True}))
    (folder / "libretranslate.js").write_text(LIBRETRANSLATE)
    (folder / "openai.js").write_text(OPENAI)
    subprocess.run(
        ["npm", "install", "--silent", "libretranslate", "openai"], cwd=folder, check=True
    )
    llm = ["llm", "openai", "endpoint", f"{url}/v1", "-m", model, "hello"]
    environment = os.environ | {"LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "key"}
    failed = 0
    for name, command in (
        ("npm libretranslate", ["node", "libretranslate.js", url, source, target]),
        ("npm openai", ["node", "openai.js", url, model]),
        ("llm", llm),
    ):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        print(f"{name}: {done.stdout.strip() or done.stderr.strip()[-300:]}")
        failed += done.returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    main()
