import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000603_given_role extends Migration {
  override up() {
    this.addSql(`alter table "users" add column "given_role" text check ("given_role" in ('viewer', 'member', 'admin', 'owner')) null;`)
  }
}
