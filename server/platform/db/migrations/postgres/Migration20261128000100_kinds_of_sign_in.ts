import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000100_kinds_of_sign_in extends Migration {
  override up() {
    this.addSql(`alter table "users" add column "kind" text check ("kind" in ('person', 'service')) not null default 'person';`)
    this.addSql(`alter table "sessions" add column "way" text check ("way" in ('password', 'provider', 'passkey')) not null default 'password';`)
    this.addSql('alter table "sessions" add column "has_second_factor" boolean not null default false;')
  }
}
