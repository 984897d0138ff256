import mermaidScript from 'mermaid/dist/mermaid.min.js?url'
import { announce } from './announce.ts'
import frameScript from './diagram-frame.js?url'

// Diagrams are drawn from the source of strangers by a large library. So they are drawn on demand, in a frame without an origin, cookies and network
// access, which can only report its height.

/** Maximum height of a diagram in CSS pixels. Higher ones are cut off. */
const maxHeight = 10_000
const failure = 'The diagram could not be drawn, so its source is shown.'

/** Adds a button to each Mermaid diagram in a text that shows the diagram in place of its source. */
export function addDiagramButtons(text: HTMLElement) {
  for (const code of text.querySelectorAll('.code-block > pre > .language-mermaid')) {
    const block = code.closest<HTMLElement>('.code-block')
    if (!block || block.querySelector('.diagram-bar')) continue
    const bar = document.createElement('div')
    bar.className = 'diagram-bar'
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Show diagram'
    const status = document.createElement('span')
    bar.append(button, status)
    block.append(bar)
    button.addEventListener('click', () => toggle({ block, button, status, source: code.textContent }))
  }
}

type Diagram = { block: HTMLElement; button: HTMLButtonElement; status: HTMLElement; source: string }

function toggle(diagram: Diagram) {
  const { block } = diagram
  if (block.querySelector('iframe')) hide(diagram)
  else void show(diagram)
}

function hide({ block, button, status }: Diagram, message = '') {
  block.querySelector('iframe')?.remove()
  delete block.dataset.drawn
  button.textContent = 'Show diagram'
  status.textContent = message
  if (message) announce(message)
}

async function show(diagram: Diagram) {
  const { block, button, status, source } = diagram
  const frame = document.createElement('iframe')
  frame.title = 'Diagram'
  frame.setAttribute('sandbox', 'allow-scripts')
  frame.srcdoc = page
  status.textContent = 'Drawing…'
  block.prepend(frame)
  const draw = () => frame.contentWindow?.postMessage({ source, isDark: document.documentElement.classList.contains('dark') }, '*')
  const onMessage = ({ source: sender, data }: MessageEvent<{ height?: unknown; hasFailed?: unknown } | null>) => {
    if (!frame.isConnected) return removeEventListener('message', onMessage)
    if (sender !== frame.contentWindow) return
    if (data?.hasFailed === true) return hide(diagram, failure)
    if (typeof data?.height !== 'number') return
    frame.style.height = `${Math.min(maxHeight, Math.max(0, data.height))}px`
    if ('drawn' in block.dataset) return
    block.dataset.drawn = ''
    button.textContent = 'Show source'
    status.textContent = ''
    announce('Drew the diagram.')
  }
  addEventListener('message', onMessage)
  const colors = new MutationObserver(() => (frame.isConnected ? draw() : colors.disconnect()))
  frame.addEventListener('load', () => {
    draw()
    colors.observe(document.documentElement, { attributeFilter: ['class'] })
  })
  // After an upgrade, tabs that are still open request scripts that no longer exist. The frame could not report this.
  if (!(await exists(frameScript))) hide(diagram, failure)
}

const exists = (url: string) =>
  fetch(url, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  )

const policy = `default-src 'none'; script-src ${mermaidScript} ${frameScript}; style-src 'unsafe-inline'`
const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Diagram</title><style>body{margin:0;overflow:auto hidden}svg{display:block;margin:auto}</style>
<script defer src="${mermaidScript}"></script><script defer src="${frameScript}"></script><body></body></html>`
