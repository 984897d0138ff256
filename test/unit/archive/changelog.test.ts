import { expect, it } from 'vitest'
import { firstLineAbout } from '../../../server/registry/archive/changelog.ts'

it.each([
  ['## 1.2.0\n\n- Adds [streams](https://example.com) and **more** `code`.\n', 'Adds streams and more code.'],
  ['# Changelog\n\n## [1.2.0] - 2026-01-01\n\n### Added\n\n* A thing.\n', 'A thing.'],
  ['1.2.0\n=====\n\n1. Numbered.\n', 'Numbered.'],
  ['## v1.2.0\n\n- [x] Done <b>now</b>.\n', 'Done now.'],
  ['## 11.2.0\n\n- Other.\n\n## 1.2.0-dev\n\n- Dev.\n\n## 1.2.0\n- This.\n', 'This.'],
  ['## 1.2.0\n\n## 1.1.0\n\n- Older.\n', null],
  ['## 1.2.0\n\n---\n\n***\n', null],
  ['## Unreleased\n\n- Soon.\n', null],
  ['1.2.0 is mentioned without a heading.\n', null],
  ['', null],
  [`## 1.2.0\r\n\r\n- ${'x'.repeat(300)}\r\n`, `${'x'.repeat(199)}…`],
])('reads the first line about 1.2.0 of %j', (changelog, line) => {
  expect(firstLineAbout(changelog, '1.2.0')).toBe(line)
})
