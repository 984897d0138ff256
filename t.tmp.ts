process.env.NODE_ENV='test'
import { announceSetupCode } from './server/setup/service.ts'
import { testApp } from './test/app.ts'
{
await using app = await testApp({ setUp: false })
await announceSetupCode(app.services)
const code = app.lines.findLast((line) => line.startsWith('Setup code: '))?.slice(12).trim() ?? ''
console.log((await app.anonymous.post('/api/setup/verify', { code:'x' })).body)
console.log((await app.anonymous.post('/api/setup/verify', { code })).body)
console.log((await app.anonymous.post('/api/setup/complete', { email:'a@b.co', displayName:'x', password: 12345678 })).body)
console.log((await app.anonymous.post('/api/setup/complete', { displayName:'x', password: '12345678' })).body)
console.log((await app.anonymous.post('/api/setup/complete', { email:'a@b.co', displayName:'x', password: 'short' })).body)
console.log(app.lines.filter(l=>/ERROR/.test(l)).join('\n').replaceAll('\\u000a','\n'))
}
