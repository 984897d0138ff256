import type { ArchiveOptions } from './archive.ts'
import { plain } from './pictures.ts'

/** Script of every payload. The console message fails a test that opens the page, even if the page is gone. */
const script = `window.pwned=1;console.error('pwned')`
const attribute = script.replaceAll("'", '&apos;')

/** Addresses that the payloads use. Nothing may contact `tracker`, and only the server may contact `remote`. */
export type HostileAddresses = { serverUrl: string; tracker: string; remote: string; redirects: readonly string[] }

/** Returns an SVG with everything that runs, loads or navigates. Two of its links and a shape are harmless. */
export const hostileSvg = ({ tracker }: Pick<HostileAddresses, 'tracker'>): string => `<?xml version="1.0"?>
<?xml-stylesheet href="${tracker}/sheet.css"?>
<!DOCTYPE svg [<!ENTITY x "<script>${script.replaceAll('"', "'")}</script>">]>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10000" height="10000" onload="${attribute}">
<script>${script}</script><script href="${tracker}/a.js"/>&x;
<style>@import url(${tracker}/import.css); rect { fill: url(${tracker}/fill.svg#a) } </style>
<style>rect { fill: u\\72l(${tracker}/escaped.svg#a) }</style>
<foreignObject width="100%" height="100%"><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="${tracker}/frame"/><img src="x" onerror="${attribute}"/></body></foreignObject>
<image href="${tracker}/image.png" width="9" height="9"/><image xlink:href="${tracker}/image2.png" width="9" height="9"/>
<use href="${tracker.replace('http:', '')}/use.svg#a"/><use xlink:href="data:image/svg+xml,&lt;svg onload='x'/&gt;#a"/>
<a href="javascript:${attribute}"><text>x</text></a><animate attributeName="href" to="javascript:${attribute}"/>
<set attributeName="onclick" to="${attribute}"/><rect style="filter:url('${tracker}/style.svg#a')" fill="url(${tracker}/fill2.svg)" width="9999" height="9999" onclick="${attribute}"/>
<feImage href="${tracker}/fe.png"/><handler type="text/javascript">${script}</handler><rect id="kept" width="50" height="50"/>
</svg>`

/** An SVG that stands for a hundred million shapes. */
const expensiveSvg = `<svg xmlns="http://www.w3.org/2000/svg"><rect id="u0"/>${Array.from({ length: 8 }, (_, index) => `<g id="u${index + 1}">${`<use href="#u${index}"/>`.repeat(10)}</g>`).join('')}</svg>`

/** Elements that would load something from another server, with the name of the file that each would load. */
const loading = (tracker: string): string => `
<img width=1 height=1 src=${tracker}/pixel.gif> <img src="${tracker}/a.png" srcset="${tracker}/b.png 1x, ${tracker}/c.png 2x">
<picture><source srcset="${tracker}/d.png 1x" media="all"><img src="${tracker}/e.png"></picture>
<p style="background:url(${tracker}/background.png)">background</p><table background="${tracker}/table.png"><tr><td>cell</table>
<video poster="${tracker}/poster.png" src="${tracker}/video.mp4" autoplay></video><audio src="${tracker}/audio.mp3" autoplay></audio>
<object data="${tracker}/object"></object><embed src="${tracker}/embed"><iframe src="${tracker}/frame" srcdoc="<script>${script}</script>"></iframe>
<link rel=prefetch href="${tracker}/prefetch"><link rel=stylesheet href="${tracker}/sheet.css"><link rel=dns-prefetch href="${tracker}">
<meta http-equiv=refresh content="0;url=${tracker}/refresh"><base href="${tracker}/base/" target=_blank>
<form action="${tracker}/form" id=form><input name=password autofocus onfocus="${attribute}"><button formaction="${tracker}/button">Sign in</button></form>
<a href="${tracker}/click" ping="${tracker}/ping" target=_blank>ping</a> <svg><image href="${tracker}/svg.png"/><use href="${tracker}/use.svg#a"/></svg>
`

/** Markup that runs scripts if a sanitizer or the parser of a browser misreads it. */
const running = [
  `<script>${script}</script>`,
  `<img src=x onerror="${attribute}">`,
  `<svg onload="${attribute}"><style><!--</style><img src=x onerror="${attribute}">-->`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${attribute}&gt;">`,
  `<noscript><p title="</noscript><img src=x onerror=&quot;${attribute}&quot;>">`,
  `<details open ontoggle="${attribute}">x</details>`,
  `<p title="&quot;><img src=x onerror=${attribute}>">x`,
  `<![CDATA[<img src=x onerror="${attribute}">]]>`,
  `<!--><img src=x onerror="${attribute}">-->`,
  `<textarea><title></textarea><img src=x onerror="${attribute}">`,
  `<template><script>${script}</script></template><xmp><img src=x onerror="${attribute}"></xmp>`,
  `\u{FDD0}code-0 <b>&#xFDD0;raw</b>`,
]

/** CSS and classes that would cover the console. */
const covering = `<style>* { display: none !important } header { position: static }</style>
<div style="position:fixed;inset:0;z-index:9999;background:red">cover</div>
<div class="fixed inset-0 z-50 bg-default">cover</div><p class="markdown-alert sr-only focus:fixed" id="main">x</p>
<b id="app">x</b><b id="first-answers">{}</b><a name="getElementById">x</a><form name="body"></form><img name="cookie" src="x">
${'> '.repeat(90)}deep\n
${'<ul><li>'.repeat(45)}deep\n
Z${'\u0310\u0341\u0322'.repeat(2000)}
`

/** Links of which each has a text or an address that misleads. */
export const misleading = [
  '[https://pub.dev/packages/http](https://evil.example/a "pub.dev")',
  '<a title="x" href="https://evil.example/b">https://pub.dev</a>',
  '<a href="https://pub.dev"><h4><a href="https://evil.example/c">https://pub.dev</a></h4></a>',
  '[https://pub.dev@evil.example](https://pub.dev@evil.example/d)',
  '[\u202Eved.bup//:sptth](https://evil.example/e)',
  '[\u200Bpub.dev](https://evil.example/f)',
]
const elsewhere = '[https://аррӏе.com/](https://аррӏе.com/) [pub](https://xn--80ak6aa92e.com/)'

/** Links that must lead nowhere, or to a file of the package. */
const rejectedLinks = `[a](javascript:${script.replaceAll(/[()]/g, '')}) <a href="java&#x0a;script:${attribute}">b</a> <a href="data:text/html,<script>${attribute}</script>">c</a>
<a href="//evil.example/x">d</a> <a href="/\\evil.example/x">e</a> <a href="\\\\evil.example/x">f</a> <a href="vbscript:x">g</a> <a href="blob:x">h</a>`

/** Returns a Markdown document with every payload. */
export const hostileDocument = ({ serverUrl, tracker, remote, redirects }: HostileAddresses): string =>
  [
    `# hostile <img src=x onerror="${attribute}"> \u202Egnp.exe`,
    `![badge](${remote}/badge.svg) <img alt="big" src="${remote}/badge.svg" width=10000 height=10000> ![bomb](${remote}/bomb.png) ![own](doc/hostile.svg) ![cost](doc/cost.svg) ![pixels](doc/bomb.png)`,
    ...redirects.map((path, index) => `![redirect ${index}](${remote}/${path})`),
    `![flip](http://flip.example:${new URL(remote).port}/flip.png) ![endless](${remote}/endless.png) ![slow](${remote}/slow.png)`,
    `![upload](${serverUrl}/api/packages/versions/new) ![download](${serverUrl}/api/archives/hostile-1.0.0.tar.gz)`,
    loading(tracker),
    `## Links\n\n${misleading.join('\n\n')}\n\n${elsewhere}\n\n${rejectedLinks}`,
    `> [!NOTE] ${running[1]}\n> x\n\n[^<script>]: ${running[1]}\n\nfoot[^<script>]`,
    `\`\`\`dart" onclick="${script}\nfinal a = '<script>${script}</script>';\n\`\`\``,
    `| ${'a | '.repeat(300)}\n| ${'- | '.repeat(300)}\n| ${`${running[1]} | `.repeat(2)}`,
    `# constructor\n\n# __proto__\n\n# getElementById\n\n${':smile:'.repeat(300)} ${'w'.repeat(5000)}`,
    covering,
    ...running,
  ].join('\n\n')

/** Returns a package with the document as every text, and with the files that the document names. */
export async function hostilePackage(version: string, document: string, { tracker }: HostileAddresses): Promise<ArchiveOptions> {
  const markup = `<img src=x onerror="${script}"><script>${script}</script>`
  const bomb = await bombPng()
  return {
    name: 'hostile',
    version,
    manifest: [
      'name: hostile',
      `version: ${version}`,
      `description: ${JSON.stringify(`${markup} \u202Eved.bup \u202C${'w'.repeat(60)} Z${'\u0310'.repeat(300)}`)}`,
      'homepage: https://evil.example/"onclick="x',
      'repository: https://evil.example/<script>',
      `environment: {sdk: '>=3.0.0 <4.0.0'}`,
      'screenshots:',
      `  - {path: doc/shot.png, description: ${JSON.stringify(markup)}}`,
      `  - {path: doc/bomb.png, description: bomb}`,
      `  - {path: doc/hostile.svg, description: vector}`,
    ].join('\n'),
    files: {
      'README.md': document,
      'CHANGELOG.md': `## ${version} ${markup}\n\n${document}\n\n${`## 0.0.1 ${markup}\n\n- ${'x'.repeat(80)}\n\n`.repeat(500)}`,
      LICENSE: document,
      'example/example.md': document,
      'lib/hostile.dart': `/// ${document.replaceAll('\n', '\n/// ')}\nint answer() => 42;\n`,
      'doc/hostile.svg': hostileSvg({ tracker }),
      'doc/cost.svg': expensiveSvg,
      'doc/page.html': `<!doctype html><title>x</title>${running.join('\n')}${loading(tracker)}`,
      'doc/shot.png': `<html>${markup}</html>`,
      'doc/bomb.png': bomb,
      "doc/&lt;img src=x onerror=pwned&gt; 'onload='x.md": document,
      'doc/trojan.dart': `/*\u202E } \u2066if (isAdmin)\u2069 \u2066 begin admins only */ ${markup}\n`,
    },
  }
}

/** Returns a small PNG that claims 10,000 × 10,000 pixels. */
export async function bombPng(): Promise<Buffer> {
  const bytes = await plain({ width: 4, height: 4 }).png().toBuffer()
  bytes.writeUInt32BE(10_000, 16)
  bytes.writeUInt32BE(10_000, 20)
  return bytes
}
