import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000067_password_proof extends Migration {
  override up() {
    this.addSql('alter table `sessions` add column `proved_at` datetime null;')
  }
}
